-- Claimed for so long and never begun, with how often that has happened to the job before.
SELECT
    lease.token, lease.id::text,
    (SELECT count(*) FROM penstock.history WHERE history.id = lease.id AND history.event = 'give_back'),
    job.policy,
    lease.cancel
FROM penstock.lease
JOIN penstock.job ON job.id = lease.id
WHERE lease.started_at IS NULL AND lease.claimed_at <= penstock.moment(%(now)s::bigint) - %(timeout)s::bigint
ORDER BY lease.token
LIMIT %(limit)s::bigint
FOR UPDATE OF lease SKIP LOCKED
