-- New jobs join their lines: all of one call at one moment, and in its order.
INSERT INTO penstock.ticket (name, due_at, id)
SELECT row.name, coalesce(row.at, penstock.moment(%(now)s::bigint) + row.delay), row.id
FROM unnest(%(names)s::text[], %(ids)s::uuid[], %(ats)s::bigint[], %(delays)s::bigint[])
    WITH ORDINALITY AS row (name, id, at, delay, nth)
ORDER BY row.nth
ON CONFLICT (id) DO UPDATE SET name = excluded.name, due_at = excluded.due_at, number = DEFAULT
