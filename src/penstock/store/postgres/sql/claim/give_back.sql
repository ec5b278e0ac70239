-- Leases of this very claim that nobody has seen yet: the tokens of those that wait again. One that was cancelled stays.
-- The claim itself may be undone by a crash of the server, but not this alone: a lease would come back that nobody knows.
WITH gone AS (DELETE FROM penstock.lease WHERE token = ANY (%(tokens)s::bigint[]) AND NOT cancel RETURNING token, id),
returned AS (
    INSERT INTO penstock.waiting (lane, due_at, id, expires_at, org)
    SELECT job.lane, job.due_at, job.id, penstock.expiry(job.attempt, job.due_at, job.policy), job.org
    FROM gone JOIN penstock.job ON job.id = gone.id
)
SELECT token, set_config('synchronous_commit', 'on', true) FROM gone
