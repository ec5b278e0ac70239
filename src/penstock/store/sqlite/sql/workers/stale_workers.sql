-- Those that are overdue by the clock, or those of :sessions that were not heard of since the moment in :beats; and those
-- that have ended and still hold something.
SELECT session, id FROM penstock_worker
WHERE (
    status IN ('active', 'draining')
    AND iif(
        :sessions IS NULL, heartbeat_at < min(:now, coalesce(:asked_at, :now)) - max(:stale_after, stale_after),
        EXISTS (
            SELECT 1 FROM json_each(:sessions) AS unheard
            JOIN json_each(:beats) AS beat ON beat.key = unheard.key
            WHERE unheard.value = session AND beat.value = heartbeat_at
        )
    )
)
    OR (status IN ('inactive', 'lost') AND session IN (SELECT session FROM penstock_lease))
