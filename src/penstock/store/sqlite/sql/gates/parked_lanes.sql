-- The lanes that wait before these gates: their highest priority, the first and the last tenant there, and the one whose
-- turn it is. Of each lane, since nobody may be there for some of them.
WITH RECURSIVE lanes (gate, lane) AS (
    SELECT given.value, (SELECT min(parked.lane) FROM penstock_parked AS parked WHERE parked.gate = given.value)
    FROM json_each(:gates) AS given
    UNION ALL
    SELECT lanes.gate, (
        SELECT min(parked.lane) FROM penstock_parked AS parked
        WHERE parked.gate = lanes.gate AND parked.lane > lanes.lane
    )
    FROM lanes WHERE lanes.lane IS NOT NULL
),
top (gate, lane, priority) AS (
    SELECT gate, lane, (
        SELECT parked.priority FROM penstock_parked AS parked
        WHERE parked.gate = lanes.gate AND parked.lane = lanes.lane
        ORDER BY parked.priority DESC LIMIT 1
    )
    FROM lanes WHERE lane IS NOT NULL
)
SELECT
    top.gate, top.lane, top.priority,
    (
        SELECT min(parked.org) FROM penstock_parked AS parked
        WHERE parked.gate = top.gate AND parked.lane = top.lane AND parked.priority = top.priority
    ),
    (
        SELECT max(parked.org) FROM penstock_parked AS parked
        WHERE parked.gate = top.gate AND parked.lane = top.lane AND parked.priority = top.priority
    ),
    (
        SELECT min(parked.org) FROM penstock_parked AS parked
        WHERE parked.gate = top.gate AND parked.lane = top.lane AND parked.priority = top.priority
            AND parked.org > gate.last_org
    )
FROM top
CROSS JOIN penstock_gate AS gate ON gate.gate = top.gate
