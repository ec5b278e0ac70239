SELECT
    penstock.moment(%(now)s::bigint), name, plan, status, next_at, fires, anchor, last_at, last_job, declared,
    created_at, changed_at, changed_by, revision
FROM (SELECT %(names)s::text[] AS names) AS asked
LEFT JOIN penstock.schedule ON asked.names IS NULL OR schedule.name = ANY (asked.names)
ORDER BY name
