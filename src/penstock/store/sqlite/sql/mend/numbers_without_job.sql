SELECT 'number ' || given.value
FROM json_each(:seqs) AS given
WHERE given.value NOT IN (SELECT seq FROM penstock_job)
