-- Who is cancelled is settled first, and stays as it is: one that is parked would forget it.
-- The claim itself may be undone by a crash of the server, but not this alone: a lease would come back that nobody knows.
WITH own AS MATERIALIZED (
    SELECT token, cancel FROM penstock.lease WHERE token = ANY (%(tokens)s::bigint[]) ORDER BY token FOR UPDATE
)
SELECT
    passed, back, us, ARRAY (SELECT token FROM own WHERE cancel),
    CASE
        WHEN cardinality(passed) < cardinality(%(tokens)s::bigint[]) THEN set_config('synchronous_commit', 'on', true)
    END
FROM penstock.admit(
    ARRAY (
        SELECT row.token FROM unnest(%(tokens)s::bigint[]) WITH ORDINALITY AS row (token, nth)
        JOIN own ON own.token = row.token AND NOT own.cancel
        ORDER BY row.nth
    ),
    %(free)s::bigint, %(now)s::bigint
)
