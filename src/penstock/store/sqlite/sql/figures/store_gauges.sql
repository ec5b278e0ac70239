INSERT INTO penstock_gauge (type, queue, capability, pending, ready, blocked, scheduled, retrying, claimed,
    running, oldest_due_at, workers, slots)
SELECT value ->> 'type', value ->> 'queue', value ->> 'capability', value ->> 'pending', value ->> 'ready', value
    ->> 'blocked', value ->> 'scheduled', value ->> 'retrying', value ->> 'claimed', value ->> 'running', value ->>
    'oldest_due_at', value ->> 'workers', value ->> 'slots'
FROM json_each(:rows)
WHERE true
ON CONFLICT (type, queue, capability) DO UPDATE SET
    pending = excluded.pending, ready = excluded.ready, blocked = excluded.blocked, scheduled =
        excluded.scheduled, retrying = excluded.retrying, claimed = excluded.claimed, running = excluded.running,
        oldest_due_at = excluded.oldest_due_at, workers = excluded.workers, slots = coalesce(excluded.slots,
        penstock_gauge.slots)
WHERE penstock_gauge.pending IS NOT excluded.pending
    OR penstock_gauge.ready IS NOT excluded.ready
    OR penstock_gauge.blocked IS NOT excluded.blocked
    OR penstock_gauge.scheduled IS NOT excluded.scheduled
    OR penstock_gauge.retrying IS NOT excluded.retrying
    OR penstock_gauge.claimed IS NOT excluded.claimed
    OR penstock_gauge.running IS NOT excluded.running
    OR penstock_gauge.oldest_due_at IS NOT excluded.oldest_due_at
    OR penstock_gauge.workers IS NOT excluded.workers
    OR penstock_gauge.slots IS NOT coalesce(excluded.slots, penstock_gauge.slots)
