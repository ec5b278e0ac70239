UPDATE penstock.once SET done = true, value = %(value)s::text
FROM penstock.lease
WHERE lease.token = %(token)s::bigint AND once.id = lease.id AND once.key = %(key)s::text
    AND once.token = lease.token
RETURNING 1
