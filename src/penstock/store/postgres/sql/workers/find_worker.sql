-- A last beat so far ahead is from before the clock was set back: whoever lives has been heard of since, or soon is.
SELECT
    session, status,
    abs(penstock.moment(%(now)s::bigint) - greatest(heartbeat_at, 0)) >= greatest(%(stale_after)s::bigint, stale_after)
FROM penstock.worker
WHERE id = %(id)s::text AND status IN ('active', 'draining')
ORDER BY session DESC
FOR UPDATE
