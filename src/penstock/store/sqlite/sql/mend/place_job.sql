-- Where it stood when it was taken.
UPDATE penstock_job SET lane = :lane, priority = :priority, due_at = :due_at WHERE seq = :seq
