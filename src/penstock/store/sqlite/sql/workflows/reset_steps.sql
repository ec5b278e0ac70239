-- After this, what has begun is over. A step without jobs is not: it waits for those before it once more.
UPDATE penstock_step
SET failed = 0, open = remains.jobs, begun = iif(remains.jobs = 0 AND penstock_step.size > 0, 1, 0)
FROM (
    SELECT step.step, count(member.id) AS jobs
    FROM penstock_step AS step
    LEFT JOIN penstock_member AS member
        ON member.workflow = step.workflow AND member.step = step.step AND (member.state IS NULL OR member.state <> {COMPLETED})
    WHERE step.workflow = :id
    GROUP BY step.step
) AS remains
WHERE penstock_step.workflow = :id AND penstock_step.step = remains.step
