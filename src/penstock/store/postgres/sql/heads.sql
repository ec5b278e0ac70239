-- The first row of every lane, and the snapshot that this is true of.
SELECT
    pg_current_snapshot()::text, pg_postmaster_start_time()::text, penstock.moment(%(now)s::bigint), array_agg(found.lane), array_agg(found.due_at), array_agg(found.id::text)
FROM (
    SELECT lane.lane, row.due_at, row.id
    FROM penstock.lane
    CROSS JOIN LATERAL (
        SELECT due_at, id FROM penstock.waiting WHERE waiting.lane = lane.lane ORDER BY due_at, id LIMIT 1
    ) AS row
) AS found
