-- The newest planned jobs of these groups: [workflow, step, spec].
WITH page AS MATERIALIZED (
    SELECT member.*
    FROM json_each(:groups) AS chosen
    JOIN penstock_member AS member ON member.workflow = chosen.value ->> 0 AND member.step = chosen.value ->> 1
        AND member.spec = chosen.value ->> 2 AND member.released = 0
    WHERE :before IS NULL OR member.id < :before
    ORDER BY member.id DESC
    LIMIT :limit
)
SELECT
    page.id, step.specs -> page.spec, page.payload, page.gates, workflow.created_at, workflow.id, step.name,
    workflow.stop
FROM page
JOIN penstock_workflow AS workflow ON workflow.id = page.workflow
JOIN penstock_step AS step ON step.workflow = page.workflow AND step.step = page.step
