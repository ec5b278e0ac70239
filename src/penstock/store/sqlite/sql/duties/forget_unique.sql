DELETE FROM penstock_unique_key
WHERE expires_at <= :now
    OR (expires_at IS NULL AND NOT EXISTS (SELECT 1 FROM penstock_job AS job WHERE job.id = penstock_unique_key.id))
