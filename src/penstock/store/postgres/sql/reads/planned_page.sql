-- The newest planned jobs of these groups: [workflow, step, spec].
WITH page AS MATERIALIZED (
    SELECT member.*
    FROM (
        SELECT (value ->> 0)::uuid AS workflow, (value ->> 1)::integer AS step, (value ->> 2)::integer AS spec
        FROM json_array_elements(%(groups)s::text::json) AS given (value)
    ) AS chosen
    JOIN penstock.member
        ON member.workflow = chosen.workflow AND member.step = chosen.step AND member.spec = chosen.spec
    WHERE NOT member.released AND (%(before)s::uuid IS NULL OR member.id < %(before)s::uuid)
    ORDER BY member.id DESC
    LIMIT %(limit)s::bigint
)
SELECT
    page.id::text, (step.specs::json -> page.spec)::text, page.payload, page.gates, workflow.created_at,
    workflow.id::text, step.name, workflow.stop
FROM page
JOIN penstock.workflow ON workflow.id = page.workflow
JOIN penstock.step ON step.workflow = page.workflow AND step.step = page.step
