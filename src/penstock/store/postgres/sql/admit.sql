-- Who is cancelled is settled first, and stays as it is: one that is parked would forget it.
WITH own AS MATERIALIZED (
    SELECT token, cancel FROM penstock.lease WHERE token = ANY (%(tokens)s::bigint[]) ORDER BY token FOR UPDATE
)
SELECT passed, back, us, ARRAY (SELECT token FROM own WHERE cancel)
FROM penstock.admit(
    ARRAY (
        SELECT row.token FROM unnest(%(tokens)s::bigint[]) WITH ORDINALITY AS row (token, nth)
        JOIN own ON own.token = row.token AND NOT own.cancel
        ORDER BY row.nth
    ),
    %(free)s::bigint, %(now)s::bigint
)
