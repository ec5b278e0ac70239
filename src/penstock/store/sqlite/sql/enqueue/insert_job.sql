-- The same for one job, without the array: a lone enqueue is the most common write of all. Its values are given in the
-- order of their names here. Nothing is stored if the id is stored already, or if the lane has not this stamp.
INSERT OR IGNORE INTO penstock_job (
    id, lane, priority, due_at, created_at, payload, policy, org, workspace, tags, parent, retried_from, unique_key, gates
)
VALUES (
    :id, (SELECT lane FROM penstock_lane WHERE lane = :lane AND stamp = :stamp), :priority, :due_at, :now, :payload,
    :policy, :org, :workspace, :tags, :parent, :retried_from, :unique_key, :gates
)
