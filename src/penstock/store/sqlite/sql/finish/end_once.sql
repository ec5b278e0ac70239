UPDATE penstock_once SET done = 1, value = :value
WHERE key = :key AND token = :token AND seq = (SELECT seq FROM penstock_lease WHERE token = :token)
RETURNING 1
