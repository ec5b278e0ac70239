-- The depth of now in the rows of now, of routes that have something to show or had it a moment ago.
INSERT INTO penstock_figure (span, at, type, queue, capability, pending, ready, blocked, scheduled, retrying,
    claimed, running)
SELECT row.value, :at - :at % (row.value * 1000000), gauge.type, gauge.queue, gauge.capability, gauge.pending,
    gauge.ready, gauge.blocked, gauge.scheduled, gauge.retrying, gauge.claimed, gauge.running
FROM penstock_gauge AS gauge
JOIN json_each(:spans) AS row
WHERE gauge.pending + gauge.scheduled + gauge.claimed + gauge.running > 0 OR EXISTS (
    SELECT 1 FROM penstock_figure AS before
    WHERE before.span = 60 AND before.at >= :at - 120000000 AND before.type = gauge.type
        AND before.queue = gauge.queue AND before.capability = gauge.capability
)
ON CONFLICT (span, at, type, queue, capability) DO UPDATE SET
    pending = excluded.pending, ready = excluded.ready, blocked = excluded.blocked, scheduled =
        excluded.scheduled, retrying = excluded.retrying, claimed = excluded.claimed, running = excluded.running
