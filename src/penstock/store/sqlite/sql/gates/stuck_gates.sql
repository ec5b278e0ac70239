-- Gates with room before which jobs are parked, and that nobody looks at: what had passed them went another way. One
-- that is ordered has room for its first in line alone, who may be elsewhere.
SELECT json_group_array(gate.gate)
FROM penstock_gate AS gate
WHERE gate.wake_at IS NULL
    AND EXISTS (SELECT 1 FROM penstock_parked AS parked WHERE parked.gate = gate.gate)
    AND gate.most > (
        SELECT count(*) FROM penstock_hold AS hold JOIN penstock_lease USING (token) WHERE hold.gate = gate.gate
    )
    AND NOT (gate.ordered AND EXISTS (
        SELECT 1
        FROM (
            SELECT ticket.id FROM penstock_ticket AS ticket
            WHERE ticket.name = gate.name ORDER BY ticket.due_at, ticket.seq LIMIT 1
        ) AS first
        JOIN penstock_job AS job ON job.id = first.id
        WHERE NOT EXISTS (SELECT 1 FROM penstock_outcome AS outcome WHERE outcome.seq = job.seq)
            AND NOT EXISTS (SELECT 1 FROM penstock_parked AS parked WHERE parked.seq = job.seq AND parked.gate = gate.gate)
    ))
