-- Whether something waits that the claim asked for, and did not get.
SELECT EXISTS (
    SELECT 1 FROM json_each(:lanes) AS lane
    CROSS JOIN penstock_ready AS ready ON ready.lane = lane.value
    WHERE ready.avoid IS NULL OR ready.avoid <> :session OR ready.due_at <= :fair
)
