UPDATE penstock_lease
SET started_at = start.at
FROM (SELECT value ->> 0 AS token, value ->> 1 AS at FROM json_each(:starts)) AS start
WHERE penstock_lease.token = start.token
