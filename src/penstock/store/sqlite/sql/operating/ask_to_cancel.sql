-- Answers whether it runs.
UPDATE penstock_lease SET cancel = 1 WHERE token = :token RETURNING started_at IS NOT NULL
