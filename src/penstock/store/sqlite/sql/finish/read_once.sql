SELECT once.token, once.done, once.value
FROM penstock_lease AS lease
JOIN penstock_once AS once ON once.seq = lease.seq AND once.key = :key
WHERE lease.token = :token
