-- Sessions that hold jobs and whose worker has no row. A worker is stored before it takes anything, and its row stays
-- while it holds something: somebody has removed it.
SELECT DISTINCT lease.session
FROM penstock_lease AS lease
WHERE NOT EXISTS (SELECT 1 FROM penstock_worker AS worker WHERE worker.session = lease.session)
    AND EXISTS (SELECT 1 FROM penstock_job AS job WHERE job.seq = lease.seq)
ORDER BY lease.session
