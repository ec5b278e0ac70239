SELECT history.at, history.event, history.attempt, worker.id, history.reason, history.error
FROM penstock_history AS history
JOIN penstock_job AS job ON job.seq = history.seq
LEFT JOIN penstock_worker AS worker ON worker.session = history.session
WHERE job.id = :id
ORDER BY history.step
