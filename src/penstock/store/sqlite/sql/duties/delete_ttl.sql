-- One that is due but was not promoted yet keeps its row: it expires once it is.
DELETE FROM penstock_ttl
WHERE expires_at <= :now
    AND NOT EXISTS (
        SELECT 1
        FROM penstock_job AS job
        JOIN penstock_scheduled AS scheduled ON scheduled.due_at = job.due_at AND scheduled.seq = job.seq
        WHERE job.id = penstock_ttl.id AND job.due_at = penstock_ttl.due_at
    )
