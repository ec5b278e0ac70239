-- The rows to which pages are to be added, as they are.
SELECT figure.span, figure.at, figure.type, figure.queue, figure.capability, figure.started, figure.completed,
    figure.failed, figure.retried, figure.dead, figure.cancelled, figure.expired, figure.timeout,
    figure.start_timeout, figure.released, figure.recovered, figure.snoozed, figure.picked,
    figure.ran, figure.spreads
FROM jsonb_to_recordset(%(rows)s::text::jsonb) AS row (span bigint, at bigint, type text, queue text, capability text)
JOIN penstock.figure USING (span, at, type, queue, capability)
