INSERT INTO penstock_history (seq, at, event, attempt, reason)
SELECT job.seq, :now, {RETRIED}, job.attempt, :reason || outcome.retried_as
FROM json_each(:ids) AS old
JOIN penstock_job AS job ON job.id = old.value
JOIN penstock_outcome AS outcome ON outcome.seq = job.seq
