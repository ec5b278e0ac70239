-- The first row of every lane, the snapshot that this is true of, and where that is: numbers of transactions and lanes mean
-- nothing to a server that was started again, nor in tables that were made anew.
SELECT
    pg_current_snapshot()::text,
    pg_postmaster_start_time()::text || ' ' || pg_relation_filenode('penstock.waiting'::regclass)::text,
    penstock.moment(%(now)s::bigint), array_agg(found.lane), array_agg(found.due_at), array_agg(found.id::text)
FROM (
    SELECT lane.lane, row.due_at, row.id
    FROM penstock.lane
    CROSS JOIN LATERAL (
        SELECT due_at, id FROM penstock.waiting WHERE waiting.lane = lane.lane ORDER BY due_at, id LIMIT 1
    ) AS row
) AS found
