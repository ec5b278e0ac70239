DELETE FROM penstock_ready
WHERE (lane, priority, due_at, seq) IN (
    SELECT job.lane, job.priority, job.due_at, job.seq
    FROM penstock_lease AS lease
    JOIN penstock_job AS job ON job.seq = lease.seq
    WHERE lease.token > :token
)
