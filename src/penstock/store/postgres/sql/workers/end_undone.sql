-- Sessions of this process whose last heartbeat is not there: a dump was restored since, and what it says of them is of
-- the past. Nobody was lost.
UPDATE penstock.worker SET status = 'inactive', failing = false
FROM unnest(%(sessions)s::bigint[], %(beats)s::bigint[]) AS beat (session, at)
WHERE worker.session = beat.session AND worker.heartbeat_at < beat.at AND worker.status <> 'inactive'
