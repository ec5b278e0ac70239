SELECT name, options FROM penstock_job_type ORDER BY name
