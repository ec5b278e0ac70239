SELECT type, queue, capability, pending, ready, blocked, scheduled, retrying, claimed, running, oldest_due_at,
    workers, slots FROM penstock_gauge ORDER BY type, queue, capability
