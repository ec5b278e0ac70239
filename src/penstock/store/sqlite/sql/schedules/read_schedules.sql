SELECT
    :now, name, plan, status, next_at, fires, anchor, last_at, last_job, declared, created_at, changed_at, changed_by,
    revision
FROM (SELECT 1) AS asked
LEFT JOIN penstock_schedule ON :names IS NULL OR name IN (SELECT value FROM json_each(:names))
ORDER BY name
