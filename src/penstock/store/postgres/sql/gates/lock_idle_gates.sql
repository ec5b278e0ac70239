-- Gates that nobody seems to need. Whoever parks a job or takes a place has locked the gate: after this it is known.
SELECT gate FROM penstock.gate
WHERE NOT EXISTS (SELECT 1 FROM penstock.parked WHERE parked.gate = gate.gate)
    AND NOT EXISTS (SELECT 1 FROM penstock.hold WHERE hold.gate = gate.gate)
    AND NOT EXISTS (
        SELECT 1 FROM penstock.permit
        WHERE permit.gate = gate.gate AND permit.at > penstock.moment(%(now)s::bigint) - gate.period
    )
ORDER BY gate
LIMIT 1000
FOR UPDATE SKIP LOCKED
