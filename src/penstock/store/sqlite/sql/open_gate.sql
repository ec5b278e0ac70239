-- The first of each lane, since nobody may be there for some of the lanes.
WITH RECURSIVE lanes (lane) AS (
    SELECT min(lane) FROM penstock_parked WHERE gate = :gate
    UNION ALL
    SELECT (SELECT min(parked.lane) FROM penstock_parked AS parked WHERE parked.gate = :gate AND parked.lane > lanes.lane)
    FROM lanes WHERE lanes.lane IS NOT NULL
)
INSERT INTO penstock_ready (lane, priority, due_at, seq, avoid, tenant)
SELECT job.lane, job.priority, job.due_at, job.seq, job.avoid, job.tenant ->> 'org'
FROM lanes
CROSS JOIN penstock_job AS job ON job.seq IN (
    SELECT parked.seq FROM penstock_parked AS parked
    WHERE parked.gate = :gate AND parked.lane = lanes.lane
    ORDER BY parked.priority DESC, parked.due_at, parked.seq
    LIMIT :room
)
WHERE lanes.lane IS NOT NULL
