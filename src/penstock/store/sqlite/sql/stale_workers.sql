-- Those that are overdue by the clock, or those of :unheard, [[session, moment of its last beat], …], that were not heard
-- of since; and those that have ended and still hold something.
SELECT session, id FROM penstock_worker
WHERE (
    status IN ('active', 'draining')
    AND iif(
        :unheard IS NULL, heartbeat_at < :now - max(:stale_after, stale_after),
        EXISTS (SELECT 1 FROM json_each(:unheard) WHERE value ->> 0 = session AND value ->> 1 = heartbeat_at)
    )
)
    OR (status IN ('inactive', 'lost') AND session IN (SELECT session FROM penstock_lease))
