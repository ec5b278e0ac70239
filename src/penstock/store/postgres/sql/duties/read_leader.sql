-- Who leads, for how long; and whether this worker may take the lead, as far as that depends on the one who has it.
SELECT leader.term, leader.session, worker.id, greatest(leader.until, 0) - clock.now,
    leader.session = %(session)s::bigint OR leader.until <= clock.now OR leader.until > clock.now + least(leader.lease, 1000000000000000)
FROM penstock.leader
CROSS JOIN (SELECT penstock.moment(%(now)s::bigint) AS now) AS clock
LEFT JOIN penstock.worker ON worker.session = leader.session
