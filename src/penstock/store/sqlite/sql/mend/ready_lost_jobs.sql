INSERT OR IGNORE INTO penstock_ready (lane, priority, due_at, seq, avoid, org)
SELECT job.lane, job.priority, job.due_at, job.seq, job.avoid, job.org
FROM json_each(:seqs) AS lost
CROSS JOIN penstock_job AS job ON job.seq = lost.value
