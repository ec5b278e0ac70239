-- The first row of each of these lanes, from where it goes on.
SELECT known.lane, row.due_at, row.id::text
FROM unnest(%(lanes)s::integer[], %(dues)s::bigint[], %(ids)s::uuid[]) AS known (lane, due_at, id)
LEFT JOIN LATERAL (
    SELECT due_at, id FROM penstock.waiting
    WHERE waiting.lane = known.lane AND (waiting.due_at, waiting.id) >= (known.due_at, known.id)
    ORDER BY due_at, id
    LIMIT 1
) AS row ON true
