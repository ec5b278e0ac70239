-- Jobs that were parked before their gate was ordered. :names are names of gates.
INSERT OR REPLACE INTO penstock_ticket (name, due_at, seq, id)
SELECT gate.name, job.due_at, job.seq, job.id
FROM json_each(:names) AS given
CROSS JOIN penstock_gate AS gate ON gate.name = given.value AND gate.ordered
CROSS JOIN penstock_parked AS parked ON parked.gate = gate.gate
CROSS JOIN penstock_job AS job ON job.seq = parked.seq
WHERE NOT EXISTS (SELECT 1 FROM penstock_ticket AS ticket WHERE ticket.id = job.id)
