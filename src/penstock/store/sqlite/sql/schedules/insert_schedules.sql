INSERT INTO penstock_schedule (
    name, plan, status, next_at, fires, anchor, last_at, last_job, declared, created_at, changed_at, changed_by,
    revision
)
SELECT
    value ->> 'name', value ->> 'plan', value ->> 'status', value ->> 'next_at', value ->> 'fires', value ->> 'anchor',
    value ->> 'last_at', value ->> 'last_job', value ->> 'declared', value ->> 'created_at', value ->> 'changed_at',
    value ->> 'changed_by', value ->> 'revision'
FROM json_each(:rows)
WHERE true
ON CONFLICT DO NOTHING
RETURNING name
