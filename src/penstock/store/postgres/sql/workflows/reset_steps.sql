-- After this, what has begun is over. A step without jobs is not: it waits for those before it once more.
UPDATE penstock.step SET failed = 0, open = remains.jobs, begun = (remains.jobs = 0 AND step.size > 0)
FROM (
    SELECT step.step, count(member.id) AS jobs
    FROM penstock.step
    LEFT JOIN penstock.member
        ON member.workflow = step.workflow AND member.step = step.step AND (member.state IS NULL OR member.state <> {COMPLETED})
    WHERE step.workflow = %(id)s::uuid
    GROUP BY step.step
) AS remains
WHERE step.workflow = %(id)s::uuid AND step.step = remains.step
