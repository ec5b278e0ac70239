-- The tenants that have jobs in these lanes, in order of their names: one look into the index for each.
WITH RECURSIVE next (tenant) AS (
    SELECT (
        SELECT min((
            SELECT min(ready.org) FROM penstock_ready AS ready INDEXED BY penstock_ready_org
            WHERE ready.lane = lane.value AND ready.priority = :priority AND ready.org > :after
        ))
        FROM json_each(:lanes) AS lane
    )
    UNION ALL
    SELECT (
        SELECT min((
            SELECT min(ready.org) FROM penstock_ready AS ready INDEXED BY penstock_ready_org
            WHERE ready.lane = lane.value AND ready.priority = :priority AND ready.org > next.tenant
        ))
        FROM json_each(:lanes) AS lane
    )
    FROM next
    WHERE next.tenant IS NOT NULL AND (:upto IS NULL OR next.tenant < :upto)
    LIMIT :limit
)
SELECT json_group_array(tenant) FROM next WHERE tenant IS NOT NULL AND (:upto IS NULL OR tenant <= :upto)
