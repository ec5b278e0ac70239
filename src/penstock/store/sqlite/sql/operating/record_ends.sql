-- Jobs that have ended just now where they waited.
INSERT INTO penstock_history (seq, at, event, attempt, reason, error)
SELECT job.seq, :now, :event, job.attempt, :reason, :error
FROM json_each(:ids) AS ended
JOIN penstock_job AS job ON job.id = ended.value
JOIN penstock_outcome AS outcome ON outcome.seq = job.seq AND outcome.finished_at = :now
