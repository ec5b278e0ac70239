SELECT job.id FROM penstock_lease AS lease JOIN penstock_job AS job ON job.seq = lease.seq WHERE lease.token = :token
