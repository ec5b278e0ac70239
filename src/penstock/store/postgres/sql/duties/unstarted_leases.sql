-- Claimed for so long and never begun, with how often that has happened to the job before. The worker was heard of when
-- the time was over, and did not say that it had begun; one that was not is perhaps dead, and left to the recovery, which
-- tells jobs that were in its hands from those that killed it.
SELECT
    lease.token,
    (SELECT count(*) FROM penstock.history WHERE history.id = lease.id AND history.event = {GIVE_BACK}),
    job.policy
FROM penstock.lease
JOIN penstock.job ON job.id = lease.id
LEFT JOIN penstock.worker ON worker.session = lease.session
WHERE lease.started_at IS NULL AND lease.claimed_at <= penstock.moment(%(now)s::bigint) - %(timeout)s::bigint
    AND (worker.session IS NULL OR worker.heartbeat_at >= lease.claimed_at + %(timeout)s::bigint)
ORDER BY lease.token
LIMIT %(limit)s::bigint
FOR UPDATE OF lease SKIP LOCKED
