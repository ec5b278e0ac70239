DELETE FROM penstock_once
WHERE key = :key AND NOT done AND token = :token AND seq = (SELECT seq FROM penstock_lease WHERE token = :token)
RETURNING 1
