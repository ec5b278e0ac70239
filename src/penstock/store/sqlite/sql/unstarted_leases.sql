-- Claimed for so long and never begun, with how often that has happened to the job before.
SELECT
    lease.token, job.id,
    (SELECT count(*) FROM penstock_history AS step WHERE step.seq = lease.seq AND step.event = 'give_back'),
    job.policy,
    lease.cancel
FROM penstock_lease AS lease
JOIN penstock_job AS job ON job.seq = lease.seq
WHERE lease.started_at IS NULL AND lease.claimed_at <= :before
ORDER BY lease.token
LIMIT :limit
