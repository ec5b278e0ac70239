-- Waits for those who are taking the same keys now. What is not answered was there before, and is locked from here on:
-- what the next statement reads of it holds.
INSERT INTO penstock.unique_key (key, id, expires_at)
SELECT row.key, row.id, penstock.moment(%(now)s::bigint) + row.per
FROM unnest(%(keys)s::text[], %(ids)s::uuid[], %(pers)s::bigint[]) AS row (key, id, per)
ORDER BY row.key
ON CONFLICT (key) DO UPDATE SET id = excluded.id WHERE false
RETURNING key
