SELECT once.token, once.done, once.value
FROM penstock.lease
JOIN penstock.once ON once.id = lease.id AND once.key = %(key)s::text
WHERE lease.token = %(token)s::bigint
