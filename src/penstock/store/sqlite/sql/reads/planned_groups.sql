-- What workflows have planned and may still begin: the jobs of each step that share their spec.
SELECT planned.workflow, planned.step, planned.spec, step.specs -> planned.spec
FROM (
    SELECT DISTINCT member.workflow, member.step, member.spec
    FROM penstock_workflow AS workflow
    JOIN penstock_member AS member ON member.workflow = workflow.id AND member.released = 0
    WHERE workflow.state = 0 AND workflow.stop = 0
) AS planned
JOIN penstock_step AS step ON step.workflow = planned.workflow AND step.step = planned.step
