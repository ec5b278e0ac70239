-- A last beat so far ahead is from before the clock was set back: whoever lives has been heard of since.
SELECT session, status, abs(:now - heartbeat_at) >= max(:stale_after, stale_after)
FROM penstock_worker
WHERE id = :id AND status IN ('active', 'draining')
ORDER BY session DESC
LIMIT 1
