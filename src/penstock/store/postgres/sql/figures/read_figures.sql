SELECT at, type, queue, capability, started, completed, failed, retried, dead, cancelled, expired, timeout,
    start_timeout, released, recovered, snoozed, picked,
    ran, spreads, pending, ready, blocked, scheduled, retrying, claimed, running
FROM penstock.figure
WHERE span = %(span)s::bigint AND at >= %(since)s::bigint AND at < %(until)s::bigint
    AND (%(type)s::text IS NULL OR type = %(type)s::text) AND (%(queue)s::text IS NULL OR queue = %(queue)s::text)
        AND (%(capability)s::text IS NULL OR capability = %(capability)s::text)
ORDER BY at, type, queue, capability
