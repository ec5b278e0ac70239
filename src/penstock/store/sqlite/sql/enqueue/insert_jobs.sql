-- :rows is [[id, payload, gates?], …]; all else is shared by the run of jobs.
INSERT INTO penstock_job (
    id, lane, priority, due_at, created_at, payload, policy, org, workspace, tags, parent, retried_from, unique_key, gates
)
SELECT
    value ->> 0, :lane, :priority, :due_at, :now, value ->> 1, :policy, :org, :workspace, :tags, :parent, :retried_from,
    :unique_key, value ->> 2
FROM json_each(:rows)
WHERE EXISTS (SELECT 1 FROM penstock_lane WHERE lane = :lane AND stamp = :stamp)
ON CONFLICT (id) DO NOTHING
