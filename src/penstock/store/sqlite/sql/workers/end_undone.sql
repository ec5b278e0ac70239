-- Sessions of this process whose last heartbeat is not there: a backup was restored since, and what it says of them is of
-- the past. Nobody was lost.
UPDATE penstock_worker SET status = 'inactive', failing = 0
FROM (
    SELECT known.value AS session, beat.value AS at
    FROM json_each(:sessions) AS known
    JOIN json_each(:beats) AS beat ON beat.key = known.key
) AS last
WHERE penstock_worker.session = last.session AND heartbeat_at < last.at AND status <> 'inactive'
