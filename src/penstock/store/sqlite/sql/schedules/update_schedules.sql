UPDATE penstock_schedule
SET
    plan = new.value ->> 'plan', status = new.value ->> 'status', next_at = new.value ->> 'next_at',
    fires = new.value ->> 'fires', anchor = new.value ->> 'anchor', last_at = new.value ->> 'last_at',
    last_job = new.value ->> 'last_job', declared = new.value ->> 'declared', created_at = new.value ->> 'created_at',
    changed_at = new.value ->> 'changed_at', changed_by = new.value ->> 'changed_by',
    revision = (new.value ->> 'revision') + 1
FROM json_each(:rows) AS new
WHERE name = new.value ->> 'name' AND revision = new.value ->> 'revision'
RETURNING name
