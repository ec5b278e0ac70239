SELECT json_group_array(json_array(seq, id))
FROM (
    SELECT job.seq, job.id
    FROM penstock_lane AS lane
    JOIN penstock_ready AS ready ON ready.lane = lane.lane
    JOIN penstock_job AS job ON job.seq = ready.seq
    WHERE lane.type = :type AND lane.queue = :queue AND lane.capability = :capability AND lane.resources = :resources
        AND NOT EXISTS (
            SELECT 1 FROM penstock_pause AS pause
            WHERE (pause.kind, pause.name) IN (VALUES ('queue', lane.queue), ('type', lane.type))
        )
    LIMIT :limit
)
