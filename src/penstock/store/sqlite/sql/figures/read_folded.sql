-- The rows to which pages are to be added, as they are.
SELECT figure.span, figure.at, figure.type, figure.queue, figure.capability, figure.started, figure.completed,
    figure.failed, figure.retried, figure.dead, figure.cancelled, figure.expired, figure.timeout,
    figure.start_timeout, figure.released, figure.recovered, figure.snoozed, figure.picked,
    figure.ran, figure.spreads
FROM json_each(:rows) AS row
JOIN penstock_figure AS figure ON figure.span = row.value ->> 'span' AND figure.at = row.value ->> 'at'
    AND figure.type = row.value ->> 'type' AND figure.queue = row.value ->> 'queue'
    AND figure.capability = row.value ->> 'capability'
