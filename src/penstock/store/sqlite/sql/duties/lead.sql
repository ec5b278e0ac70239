-- A worker that may not lead changes nothing.
INSERT INTO penstock_leader (id, term, session, lease, until)
SELECT 1, 1, session, :lease, :now + :lease FROM penstock_worker
WHERE session = :session AND status IN ('active', 'draining') AND NOT failing
ON CONFLICT (id) DO UPDATE SET
    term = term % 4611686018427387904 + (session <> excluded.session), session = excluded.session,
    lease = excluded.lease, until = excluded.until
WHERE session = excluded.session OR until <= :now OR until > :now + penstock_leader.lease
