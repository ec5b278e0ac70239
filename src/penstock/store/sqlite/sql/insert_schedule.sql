INSERT INTO penstock_schedule (
    name, plan, status, next_at, fires, anchor, last_at, last_job, declared, created_at, changed_at, changed_by,
    revision
)
VALUES (
    :name, :plan, :status, :next_at, :fires, :anchor, :last_at, :last_job, :declared, :created_at, :changed_at,
    :changed_by, :revision
)
ON CONFLICT DO NOTHING
