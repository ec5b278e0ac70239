UPDATE penstock_schedule
SET
    plan = :plan, status = :status, next_at = :next_at, fires = :fires, anchor = :anchor, last_at = :last_at,
    last_job = :last_job, declared = :declared, created_at = :created_at, changed_at = :changed_at,
    changed_by = :changed_by, revision = :revision
WHERE name = :name AND revision = :before
