INSERT INTO penstock.gauge (type, queue, capability, pending, ready, blocked, scheduled, retrying, claimed,
    running, oldest_due_at, workers, slots)
SELECT type, queue, capability, pending, ready, blocked, scheduled, retrying, claimed, running, oldest_due_at,
    workers, slots
FROM jsonb_populate_recordset(NULL::penstock.gauge, %(rows)s::text::jsonb)
ORDER BY type, queue, capability
ON CONFLICT (type, queue, capability) DO UPDATE SET
    pending = excluded.pending, ready = excluded.ready, blocked = excluded.blocked, scheduled =
        excluded.scheduled, retrying = excluded.retrying, claimed = excluded.claimed, running = excluded.running,
        oldest_due_at = excluded.oldest_due_at, workers = excluded.workers, slots = coalesce(excluded.slots,
        gauge.slots)
WHERE (gauge.pending, gauge.ready, gauge.blocked, gauge.scheduled, gauge.retrying, gauge.claimed, gauge.running,
    gauge.oldest_due_at, gauge.workers, gauge.slots)
    IS DISTINCT FROM (excluded.pending, excluded.ready, excluded.blocked, excluded.scheduled, excluded.retrying,
        excluded.claimed, excluded.running, excluded.oldest_due_at, excluded.workers, coalesce(excluded.slots,
        gauge.slots))
