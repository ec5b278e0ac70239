-- One that was told to drain stays draining. One whose last heartbeat (:seen) is not there is not known: a backup was
-- restored since, and what it says of the jobs in this worker's hands is of the past. A mark that nobody renews is over
-- after so many beats.
UPDATE penstock_worker SET
    heartbeat_at = :now, status = iif(status = 'draining' AND :status = 'active', status, :status),
    marked = max(marked - 1, 0), failing = (failing AND marked > 1 AND :status <> 'inactive'),
    unreached = (unreached AND marked > 1)
WHERE session = :session AND status IN ('active', 'draining') AND (:seen IS NULL OR heartbeat_at >= :seen)
RETURNING heartbeat_at
