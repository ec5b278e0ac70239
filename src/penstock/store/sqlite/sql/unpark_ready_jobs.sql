WITH RECURSIVE lanes (lane) AS (
    SELECT min(lane) FROM penstock_parked WHERE gate = :gate
    UNION ALL
    SELECT (SELECT min(parked.lane) FROM penstock_parked AS parked WHERE parked.gate = :gate AND parked.lane > lanes.lane)
    FROM lanes WHERE lanes.lane IS NOT NULL
)
DELETE FROM penstock_parked
WHERE seq IN (
    SELECT opened.seq
    FROM lanes
    CROSS JOIN penstock_parked AS opened ON opened.seq IN (
        SELECT parked.seq FROM penstock_parked AS parked
        WHERE parked.gate = :gate AND parked.lane = lanes.lane
        ORDER BY parked.priority DESC, parked.due_at, parked.seq
        LIMIT :room
    )
    WHERE lanes.lane IS NOT NULL
)
