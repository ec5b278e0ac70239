DELETE FROM penstock_parked
WHERE seq IN (
    SELECT parked.seq
    FROM json_each(:rows) AS row
    CROSS JOIN penstock_job AS job ON job.id = row.value ->> 1
    CROSS JOIN penstock_parked AS parked ON parked.seq = job.seq AND parked.gate = row.value ->> 0
)
