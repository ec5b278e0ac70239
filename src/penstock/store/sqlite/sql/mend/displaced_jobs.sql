-- Leased after this token, and still in line: they stood at another place than their jobs say.
SELECT job.seq, job.id, ready.lane, ready.priority, ready.due_at
FROM penstock_ready AS ready
JOIN penstock_lease AS lease ON lease.seq = ready.seq AND lease.token > :token
JOIN penstock_job AS job ON job.seq = lease.seq
