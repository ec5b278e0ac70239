DELETE FROM penstock.once
USING penstock.lease
WHERE lease.token = %(token)s::bigint AND once.id = lease.id AND once.key = %(key)s::text
    AND once.token = lease.token AND NOT once.done
RETURNING 1
