-- Answers nothing: a snapshot does not see what it changes. A worker that may not lead changes nothing.
INSERT INTO penstock.leader AS leader (id, term, session, lease, until)
SELECT 1, 1, session, %(lease)s::bigint, penstock.moment(%(now)s::bigint) + %(lease)s::bigint
FROM penstock.worker
WHERE session = %(session)s::bigint AND status IN ('active', 'draining') AND NOT failing
ON CONFLICT (id) DO UPDATE SET
    term = leader.term % 4611686018427387904 + (leader.session <> excluded.session)::integer, session = excluded.session,
    lease = excluded.lease, until = excluded.until
WHERE leader.session = excluded.session
    OR leader.until <= penstock.moment(%(now)s::bigint)
    OR leader.until > penstock.moment(%(now)s::bigint) + least(leader.lease, 1000000000000000)
