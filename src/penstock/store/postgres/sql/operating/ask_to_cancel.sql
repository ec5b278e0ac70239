-- Answers whether it runs; nothing if the attempt has ended meanwhile, which this waits for.
UPDATE penstock.lease SET cancel = true WHERE token = %(token)s::bigint RETURNING started_at IS NOT NULL
