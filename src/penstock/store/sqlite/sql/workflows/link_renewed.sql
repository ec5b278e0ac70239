-- Dead letters among them were retried by this.
UPDATE penstock_outcome
SET retried_as = renewed.value ->> 1
FROM json_each(:rows) AS renewed
JOIN penstock_job AS job ON job.id = renewed.value ->> 0
WHERE penstock_outcome.seq = job.seq AND penstock_outcome.state IN ({DEAD}, {EXPIRED})
