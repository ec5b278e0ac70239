-- Those that are overdue, and those that have ended and still hold something. One that another recovers is left to it.
SELECT session, id FROM penstock.worker
WHERE (
    status IN ('active', 'draining')
    AND heartbeat_at < penstock.moment(%(now)s::bigint) - greatest(%(stale_after)s::bigint, stale_after)
)
    OR (status IN ('inactive', 'lost') AND session = ANY (ARRAY (SELECT DISTINCT lease.session FROM penstock.lease)))
ORDER BY session
FOR UPDATE SKIP LOCKED
