DELETE FROM penstock_ready
WHERE (lane, priority, due_at, seq) IN (
    SELECT job.lane, job.priority, job.due_at, job.seq
    FROM json_each(:seqs) AS failed
    JOIN penstock_job AS job ON job.seq = failed.value
)
