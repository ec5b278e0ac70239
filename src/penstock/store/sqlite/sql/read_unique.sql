-- The job that holds the key: for its period, or, without one, while it has not ended.
SELECT held.id
FROM penstock_unique AS held
LEFT JOIN penstock_job AS job ON job.id = held.id
LEFT JOIN penstock_outcome AS outcome ON outcome.seq = job.seq
WHERE held.key = :key
    AND CASE
        WHEN held.expires_at IS NOT NULL THEN held.expires_at > :now
        ELSE job.seq IS NOT NULL AND outcome.seq IS NULL
    END
