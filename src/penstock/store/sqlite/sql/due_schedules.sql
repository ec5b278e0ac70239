SELECT
    name, plan, status, next_at, fires, anchor, last_at, last_job, declared, created_at, changed_at, changed_by,
    revision
FROM penstock_schedule
WHERE
    status = 'active' AND next_at <= :now
    AND (name, revision) NOT IN (SELECT value ->> 0, value ->> 1 FROM json_each(:but))
ORDER BY next_at, name
LIMIT :limit
