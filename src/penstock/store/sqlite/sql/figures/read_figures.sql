SELECT at, type, queue, capability, started, completed, failed, retried, dead, cancelled, expired, timeout,
    start_timeout, released, recovered, snoozed, picked,
    ran, spreads, pending, ready, blocked, scheduled, retrying, claimed, running
FROM penstock_figure
WHERE span = :span AND at >= :since AND at < :until
    AND (:type IS NULL OR type = :type) AND (:queue IS NULL OR queue = :queue) AND (:capability IS NULL OR
        capability = :capability)
ORDER BY at, type, queue, capability
