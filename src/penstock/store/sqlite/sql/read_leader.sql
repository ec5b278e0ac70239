SELECT leader.term, leader.session, worker.id, leader.until
FROM penstock_leader AS leader
LEFT JOIN penstock_worker AS worker ON worker.session = leader.session
