-- The oldest of each state that are older than its age.
SELECT job.id
FROM json_each(:states) AS rule
JOIN json_each(:ages) AS age ON age.key = rule.key
JOIN penstock_job AS job ON job.seq IN (
    SELECT outcome.seq FROM penstock_outcome AS outcome
    WHERE outcome.state = rule.value AND outcome.finished_at < :now - age.value
    ORDER BY outcome.finished_at
    LIMIT :limit
)
LIMIT :limit
