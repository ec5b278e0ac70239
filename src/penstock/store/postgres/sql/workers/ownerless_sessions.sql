-- Sessions that hold jobs and whose worker has no row. A worker is stored before it takes anything, and its row stays
-- while it holds something: somebody has removed it.
SELECT DISTINCT lease.session
FROM penstock.lease
WHERE NOT EXISTS (SELECT 1 FROM penstock.worker WHERE worker.session = lease.session)
    AND EXISTS (SELECT 1 FROM penstock.job WHERE job.id = lease.id)
ORDER BY lease.session
