DELETE FROM penstock_ready
WHERE (lane, priority, due_at, seq) IN (
    SELECT job.lane, job.priority, job.due_at, job.seq
    FROM penstock_ttl AS ttl
    JOIN penstock_job AS job ON job.id = ttl.id AND job.due_at = ttl.due_at
    JOIN penstock_outcome AS outcome ON outcome.seq = job.seq
    WHERE ttl.expires_at <= :now
)
