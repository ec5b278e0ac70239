-- The depth of now in the rows of now, of routes that have something to show or had it a moment ago.
INSERT INTO penstock.figure (span, at, type, queue, capability, pending, ready, blocked, scheduled, retrying,
    claimed, running)
SELECT row.span, %(at)s::bigint - %(at)s::bigint %% (row.span * 1000000), gauge.type, gauge.queue,
    gauge.capability, gauge.pending, gauge.ready, gauge.blocked, gauge.scheduled, gauge.retrying, gauge.claimed,
    gauge.running
FROM penstock.gauge
CROSS JOIN unnest(%(spans)s::bigint[]) AS row (span)
WHERE gauge.pending + gauge.scheduled + gauge.claimed + gauge.running > 0 OR EXISTS (
    SELECT 1 FROM penstock.figure AS before
    WHERE before.span = 60 AND before.at >= %(at)s::bigint - 120000000 AND before.type = gauge.type
        AND before.queue = gauge.queue AND before.capability = gauge.capability
)
ORDER BY 1, 2, 3, 4, 5
ON CONFLICT (span, at, type, queue, capability) DO UPDATE SET
    pending = excluded.pending, ready = excluded.ready, blocked = excluded.blocked, scheduled =
        excluded.scheduled, retrying = excluded.retrying, claimed = excluded.claimed, running = excluded.running
