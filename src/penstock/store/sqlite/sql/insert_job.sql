-- The same for one job, without the array: a lone enqueue is the most common write of all.
INSERT INTO penstock_job (
    id, lane, priority, due_at, created_at, payload, policy, tenant, tags, parent, retried_from, unique_key, gates
)
VALUES (:id, :lane, :priority, :due_at, :now, :payload, :policy, :tenant, :tags, :parent, :retried_from, :unique_key, :gates)
ON CONFLICT (id) DO NOTHING
