-- With what was there: the rows hold both.
INSERT INTO penstock_figure (span, at, type, queue, capability, started, completed, failed, retried, dead,
    cancelled, expired, timeout, start_timeout, released, recovered, snoozed, picked, ran, runs, spreads)
SELECT value ->> 'span', value ->> 'at', value ->> 'type', value ->> 'queue', value ->> 'capability', value ->>
    'started', value ->> 'completed', value ->> 'failed', value ->> 'retried', value ->> 'dead', value ->>
    'cancelled', value ->> 'expired', value ->> 'timeout', value ->> 'start_timeout', value ->> 'released', value ->>
    'recovered', value ->> 'snoozed', value ->> 'picked', value ->> 'ran', value ->> 'runs', value ->> 'spreads'
FROM json_each(:rows)
WHERE true
ON CONFLICT (span, at, type, queue, capability) DO UPDATE SET
    started = excluded.started, completed = excluded.completed, failed = excluded.failed, retried =
        excluded.retried, dead = excluded.dead, cancelled = excluded.cancelled, expired = excluded.expired, timeout =
        excluded.timeout, start_timeout = excluded.start_timeout, released = excluded.released, recovered =
        excluded.recovered, snoozed = excluded.snoozed, picked = excluded.picked, ran = excluded.ran, runs =
        excluded.runs, spreads = excluded.spreads
