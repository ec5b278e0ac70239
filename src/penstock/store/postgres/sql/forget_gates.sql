-- Those of the locked gates that nobody needs now; they are made again from the jobs that name them.
WITH gone AS (
    DELETE FROM penstock.gate
    WHERE gate = ANY (%(gates)s::bigint[]) AND NOT EXISTS (SELECT 1 FROM penstock.parked WHERE parked.gate = gate.gate)
        AND NOT EXISTS (SELECT 1 FROM penstock.hold WHERE hold.gate = gate.gate)
        AND NOT EXISTS (
            SELECT 1 FROM penstock.permit
            WHERE permit.gate = gate.gate AND permit.at > penstock.moment(%(now)s::bigint) - gate.period
        )
    RETURNING gate
)
DELETE FROM penstock.permit WHERE gate IN (SELECT gate FROM gone)
