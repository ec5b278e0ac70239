SELECT json_group_array(job.seq) FROM json_each(:ids) AS asked JOIN penstock_job AS job ON job.id = asked.value
