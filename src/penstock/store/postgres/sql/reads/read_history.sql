SELECT history.at, history.event, history.attempt, worker.id, history.reason, history.error
FROM penstock.history
LEFT JOIN penstock.worker ON worker.session = history.session
WHERE history.id = %(id)s::uuid
ORDER BY history.step
