UPDATE penstock.schedule
SET
    plan = new.plan, status = new.status, next_at = new.next_at, fires = new.fires, anchor = new.anchor,
    last_at = new.last_at, last_job = new.last_job, declared = new.declared, created_at = new.created_at,
    changed_at = new.changed_at, changed_by = new.changed_by, revision = new.revision + 1
FROM jsonb_populate_recordset(NULL::penstock.schedule, %(rows)s::text::jsonb) AS new
WHERE schedule.name = new.name AND schedule.revision = new.revision
RETURNING schedule.name
