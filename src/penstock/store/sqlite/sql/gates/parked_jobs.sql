-- The first :jobs of each of these: :lanes is [[gate, lane, priority, org], …].
SELECT lane.value ->> 0, parked.seq
FROM json_each(:lanes) AS lane
CROSS JOIN penstock_parked AS parked ON parked.seq IN (
    SELECT first.seq FROM penstock_parked AS first
    WHERE first.gate = lane.value ->> 0 AND first.lane = lane.value ->> 1 AND first.priority = lane.value ->> 2
        AND first.org = lane.value ->> 3
    ORDER BY first.due_at, first.seq
    LIMIT :jobs
)
