-- :rows is [[id, payload], …]; all else is shared by the run of jobs.
INSERT INTO penstock_job (
    id, lane, priority, due_at, created_at, payload, policy, tenant, tags, parent, retried_from, unique_key
)
SELECT
    value ->> 0, :lane, :priority, :due_at, :now, value ->> 1, :policy, :tenant, :tags, :parent, :retried_from,
    :unique_key
FROM json_each(:rows)
WHERE true
ON CONFLICT (id) DO NOTHING
