-- Those of the locked gates that nobody needs now; they are made again from the jobs that name them.
WITH gone AS (
    DELETE FROM penstock.gate
    WHERE gate = ANY (%(gates)s::bigint[]) AND NOT EXISTS (SELECT 1 FROM penstock.parked WHERE parked.gate = gate.gate)
        AND NOT EXISTS (SELECT 1 FROM penstock.hold WHERE hold.gate = gate.gate)
        AND NOT EXISTS (
            SELECT 1 FROM penstock.permit
            WHERE permit.gate = gate.gate AND permit.at > penstock.moment(%(now)s::bigint) - gate.period
        )
    RETURNING gate, name
),
left_over AS (
    DELETE FROM penstock.ticket USING gone
    WHERE ticket.name = gone.name AND ticket.due_at <= penstock.moment(%(now)s::bigint)
        AND (
            NOT EXISTS (SELECT 1 FROM penstock.job WHERE job.id = ticket.id)
            OR EXISTS (SELECT 1 FROM penstock.outcome WHERE outcome.id = ticket.id)
        )
)
DELETE FROM penstock.permit WHERE gate IN (SELECT gate FROM gone)
