INSERT INTO penstock_once (seq, key, token)
SELECT seq, :key, token FROM penstock_lease WHERE token = :token
ON CONFLICT (seq, key) DO NOTHING
RETURNING 1
