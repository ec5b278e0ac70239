-- Sessions of this process whose last heartbeat is not there: a backup was restored since, and what it says of them is of
-- the past. Nobody was lost. :beats is [[session, moment of its last heartbeat], …].
UPDATE penstock_worker SET status = 'inactive', failing = 0
FROM json_each(:beats) AS beat
WHERE session = beat.value ->> 0 AND heartbeat_at < beat.value ->> 1 AND status <> 'inactive'
