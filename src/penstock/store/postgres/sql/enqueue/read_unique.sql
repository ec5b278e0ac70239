-- Who holds these keys, which are locked: a job for its period, or, without one, while it has not ended; and whether it
-- has waited for longer than its time-to-live.
SELECT held.key, held.id::text,
    CASE
        WHEN held.expires_at IS NOT NULL THEN held.expires_at > penstock.moment(%(now)s::bigint)
        ELSE EXISTS (SELECT 1 FROM penstock.job WHERE job.id = held.id)
            AND NOT EXISTS (SELECT 1 FROM penstock.outcome WHERE outcome.id = held.id)
    END,
    held.expires_at IS NULL AND EXISTS (
        SELECT 1 FROM penstock.job
        LEFT JOIN penstock.parked ON parked.id = job.id
        LEFT JOIN penstock.waiting ON waiting.lane = job.lane AND waiting.due_at = job.due_at AND waiting.id = job.id
        WHERE job.id = held.id
            AND coalesce(waiting.expires_at, parked.expires_at) <= penstock.moment(%(now)s::bigint)
    )
FROM penstock.unique_key AS held
WHERE held.key = ANY (%(keys)s::text[])
