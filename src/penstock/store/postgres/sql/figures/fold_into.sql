-- With what was there: the rows hold both.
INSERT INTO penstock.figure (span, at, type, queue, capability, started, completed, failed, retried, dead,
    cancelled, expired, timeout, start_timeout, released, recovered, snoozed, picked, ran, runs, spreads)
SELECT span, at, type, queue, capability, started, completed, failed, retried, dead, cancelled, expired, timeout,
    start_timeout, released, recovered, snoozed, picked, ran, runs, spreads
FROM jsonb_populate_recordset(NULL::penstock.figure, %(rows)s::text::jsonb)
ORDER BY span, at, type, queue, capability
ON CONFLICT (span, at, type, queue, capability) DO UPDATE SET
    started = excluded.started, completed = excluded.completed, failed = excluded.failed, retried =
        excluded.retried, dead = excluded.dead, cancelled = excluded.cancelled, expired = excluded.expired, timeout =
        excluded.timeout, start_timeout = excluded.start_timeout, released = excluded.released, recovered =
        excluded.recovered, snoozed = excluded.snoozed, picked = excluded.picked, ran = excluded.ran, runs =
        excluded.runs, spreads = excluded.spreads
