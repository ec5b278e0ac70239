-- Jobs that had ended before these attempts did.
SELECT json_group_array(job.id)
FROM json_each(:tokens) AS token
JOIN penstock_lease AS lease ON lease.token = token.value
JOIN penstock_outcome AS outcome ON outcome.seq = lease.seq
JOIN penstock_job AS job ON job.seq = lease.seq
WHERE outcome.finished_at <> :now
