SELECT coalesce(job.id, 'number ' || given.value)
FROM json_each(:seqs) AS given
LEFT JOIN penstock_job AS job ON job.seq = given.value
WHERE given.value IN (SELECT seq FROM penstock_ready)
