INSERT INTO penstock_outcome (seq, state, attempt, finished_at, reason, decided_by)
SELECT job.seq, {DEAD}, job.attempt, :now, :reason, 'routing'
FROM json_each(:seqs) AS failed
JOIN penstock_job AS job ON job.seq = failed.value
WHERE true
ON CONFLICT (seq) DO NOTHING
