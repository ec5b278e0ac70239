INSERT OR IGNORE INTO penstock_ready (lane, priority, due_at, seq, avoid, org)
SELECT job.lane, job.priority, job.due_at, job.seq, job.avoid, job.org
FROM (SELECT seq FROM penstock_scheduled WHERE due_at <= :now ORDER BY due_at, seq LIMIT :limit) AS due
JOIN penstock_job AS job ON job.seq = due.seq
