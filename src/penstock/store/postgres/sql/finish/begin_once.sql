INSERT INTO penstock.once (id, key, token)
SELECT id, %(key)s::text, token FROM penstock.lease WHERE token = %(token)s::bigint
ON CONFLICT (id, key) DO NOTHING
RETURNING 1
