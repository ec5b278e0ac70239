INSERT INTO penstock.unique_key (key, id, expires_at)
SELECT row.key, row.id, penstock.moment(%(now)s::bigint) + row.per
FROM unnest(%(keys)s::text[], %(ids)s::uuid[], %(pers)s::bigint[]) AS row (key, id, per)
ORDER BY row.key
ON CONFLICT (key) DO UPDATE SET id = excluded.id, expires_at = excluded.expires_at
