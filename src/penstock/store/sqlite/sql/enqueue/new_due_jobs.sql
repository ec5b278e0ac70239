-- Of these jobs those that were stored just now and are due.
SELECT json_group_array(json_array(job.seq, job.id))
FROM json_each(:ids) AS new
JOIN penstock_job AS job ON job.id = new.value
WHERE job.seq > :last_job AND job.due_at <= :now
