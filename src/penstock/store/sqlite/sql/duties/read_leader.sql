-- Who leads, for how long; and whether this worker may take the lead, as far as that depends on the one who has it.
SELECT leader.term, leader.session, worker.id, leader.until - :now,
    leader.session = :session OR leader.until <= :now OR leader.until > :now + leader.lease
FROM penstock_leader AS leader
LEFT JOIN penstock_worker AS worker ON worker.session = leader.session
