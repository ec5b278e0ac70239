WITH clock AS MATERIALIZED (SELECT penstock.moment(%(now)s::bigint) AS now)
SELECT
    clock.now,
    (SELECT min(schedule.next_at) FROM penstock.schedule WHERE status = 'active' AND schedule.next_at > clock.now),
    due.*
FROM clock
LEFT JOIN LATERAL (
    SELECT
        name, plan, status, next_at, fires, anchor, last_at, last_job, declared, created_at, changed_at, changed_by,
        revision
    FROM penstock.schedule
    WHERE
        status = 'active' AND next_at <= clock.now
        AND (name, revision) NOT IN (SELECT * FROM unnest(%(but)s::text[], %(revisions)s::bigint[]))
    ORDER BY next_at, name
    LIMIT %(limit)s::bigint
) AS due ON true
