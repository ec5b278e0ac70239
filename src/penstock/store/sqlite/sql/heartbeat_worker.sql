-- One that was told to drain stays draining. One whose last heartbeat (:seen) is not there is not known: a backup was
-- restored since, and what it says of the jobs in this worker's hands is of the past.
UPDATE penstock_worker SET heartbeat_at = :now, status = iif(status = 'draining' AND :status = 'active', status, :status)
WHERE session = :session AND status IN ('active', 'draining') AND (:seen IS NULL OR heartbeat_at >= :seen)
