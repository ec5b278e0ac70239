INSERT INTO penstock.schedule (
    name, plan, status, next_at, fires, anchor, last_at, last_job, declared, created_at, changed_at, changed_by,
    revision
)
SELECT
    name, plan, status, next_at, fires, anchor, last_at, last_job, declared, created_at, changed_at, changed_by,
    revision
FROM jsonb_populate_recordset(NULL::penstock.schedule, %(rows)s::text::jsonb)
ORDER BY name
ON CONFLICT DO NOTHING
RETURNING name
