-- :rows is [[gate, id], …]: those of them that are parked before their gate.
SELECT json_group_array(parked.seq)
FROM json_each(:rows) AS row
CROSS JOIN penstock_job AS job ON job.id = row.value ->> 1
CROSS JOIN penstock_parked AS parked ON parked.seq = job.seq AND parked.gate = row.value ->> 0
