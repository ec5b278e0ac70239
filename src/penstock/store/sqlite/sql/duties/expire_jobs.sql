-- Only a job that was never claimed can expire: it is still where its enqueue put it. One that has ended stays as it is.
-- Answers which have expired.
INSERT OR IGNORE INTO penstock_outcome (seq, state, attempt, finished_at, reason, decided_by)
SELECT job.seq, {EXPIRED}, 0, :now, :reason, 'ttl'
FROM penstock_ttl AS ttl
JOIN penstock_job AS job ON job.id = ttl.id AND job.due_at = ttl.due_at
WHERE ttl.expires_at <= :now AND job.attempt = 0
    AND (
        EXISTS (
            SELECT 1 FROM penstock_ready AS ready
            WHERE ready.lane = job.lane AND ready.priority = job.priority AND ready.due_at = job.due_at
                AND ready.seq = job.seq
        )
        OR EXISTS (SELECT 1 FROM penstock_parked AS parked WHERE parked.seq = job.seq)
    )
RETURNING (SELECT job.id FROM penstock_job AS job WHERE job.seq = penstock_outcome.seq)
