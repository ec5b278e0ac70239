SELECT name, options FROM penstock.job_type ORDER BY name COLLATE "C"
