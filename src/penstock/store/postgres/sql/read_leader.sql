SELECT leader.term, leader.session, worker.id, leader.until - penstock.moment(%(now)s::bigint)
FROM penstock.leader
LEFT JOIN penstock.worker ON worker.session = leader.session
