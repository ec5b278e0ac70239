-- Claimed for so long and never begun, with how often that has happened to the job before. The worker was heard of when
-- the time was over, and did not say that it had begun; one that was not is perhaps dead, and left to the recovery, which
-- tells jobs that were in its hands from those that killed it.
SELECT
    lease.token,
    (SELECT count(*) FROM penstock_history AS step WHERE step.seq = lease.seq AND step.event = {GIVE_BACK}),
    job.policy
FROM penstock_lease AS lease
JOIN penstock_job AS job ON job.seq = lease.seq
LEFT JOIN penstock_worker AS worker ON worker.session = lease.session
WHERE lease.started_at IS NULL AND lease.claimed_at <= :now - :timeout
    AND (worker.session IS NULL OR worker.heartbeat_at >= lease.claimed_at + :timeout)
ORDER BY lease.token
LIMIT :limit
