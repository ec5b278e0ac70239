-- What workflows have planned and may still begin: the jobs of each step that share their spec.
SELECT planned.workflow::text, planned.step, planned.spec, (step.specs::json -> planned.spec)::text
FROM (
    SELECT DISTINCT member.workflow, member.step, member.spec
    FROM penstock.workflow
    JOIN penstock.member ON member.workflow = workflow.id AND NOT member.released
    WHERE workflow.state = 0 AND workflow.stop = 0
) AS planned
JOIN penstock.step ON step.workflow = planned.workflow AND step.step = planned.step
