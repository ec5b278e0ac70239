-- The job that holds the key, for its period, or, without one, while it has not ended; and whether it has waited for
-- longer than its time-to-live.
SELECT held.id, held.expires_at IS NULL AND EXISTS (
        SELECT 1 FROM penstock_ttl AS ttl
        WHERE ttl.expires_at <= :now AND ttl.id = held.id AND ttl.due_at = job.due_at AND job.attempt = 0
    ) AND NOT EXISTS (SELECT 1 FROM penstock_lease AS lease WHERE lease.seq = job.seq)
FROM penstock_unique_key AS held
LEFT JOIN penstock_job AS job ON job.id = held.id
LEFT JOIN penstock_outcome AS outcome ON outcome.seq = job.seq
WHERE held.key = :key
    AND CASE
        WHEN held.expires_at IS NOT NULL THEN held.expires_at > :now
        ELSE job.seq IS NOT NULL AND outcome.seq IS NULL
    END
