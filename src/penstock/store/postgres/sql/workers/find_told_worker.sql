SELECT session, slots, status, penstock.moment(%(now)s::bigint) - heartbeat_at, stale_after
FROM penstock.worker
WHERE id = %(id)s::text
ORDER BY session DESC
LIMIT 1
FOR UPDATE
