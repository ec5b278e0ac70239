-- The oldest that match, locked: of two people who act on one dead letter, the second sees what the first has done.
-- What matches is filled in by pages.py from fixed texts.
SELECT
    outcome.id::text, outcome.state, job.payload, outcome.retried_as::text, lane.type, lane.queue, lane.capability, lane.resources,
    lane.priority, job.policy, job.org, job.workspace, job.tags
FROM penstock.outcome
CROSS JOIN LATERAL (SELECT * FROM penstock.job WHERE job.id = outcome.id LIMIT 1) AS job
CROSS JOIN LATERAL (SELECT * FROM penstock.lane WHERE lane.lane = job.lane LIMIT 1) AS lane
WHERE (%(retried)s::boolean OR outcome.retried_as IS NULL)
    AND outcome.id = ANY (
        ARRAY (SELECT outcome.id {matching} ORDER BY outcome.finished_at, outcome.id LIMIT %(limit)s::bigint)
    )
ORDER BY outcome.finished_at, outcome.id
FOR UPDATE OF outcome
