-- :rows is [[gate, id], …]. Only those that are parked before this very gate.
INSERT INTO penstock_ready (lane, priority, due_at, seq, avoid)
SELECT job.lane, job.priority, job.due_at, job.seq, job.avoid
FROM json_each(:rows) AS row
CROSS JOIN penstock_job AS job ON job.id = row.value ->> 1
CROSS JOIN penstock_parked AS parked ON parked.seq = job.seq AND parked.gate = row.value ->> 0
