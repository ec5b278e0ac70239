UPDATE penstock_lease
SET progress = news.progress
FROM (SELECT value ->> 0 AS token, value ->> 1 AS progress FROM json_each(:progress)) AS news
WHERE penstock_lease.token = news.token
