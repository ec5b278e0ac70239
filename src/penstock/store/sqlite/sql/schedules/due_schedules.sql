SELECT
    :now,
    (SELECT min(next_at) FROM penstock_schedule WHERE status = 'active' AND next_at > :now),
    due.*
FROM (SELECT 1) AS clock
LEFT JOIN (
    SELECT
        name, plan, status, next_at, fires, anchor, last_at, last_job, declared, created_at, changed_at, changed_by,
        revision
    FROM penstock_schedule
    WHERE
        status = 'active' AND next_at <= :now
        AND (name, revision) NOT IN (
            SELECT but.value, old.value FROM json_each(:but) AS but JOIN json_each(:revisions) AS old ON old.key = but.key
        )
    ORDER BY next_at, name
    LIMIT :limit
) AS due
ORDER BY due.next_at, due.name
