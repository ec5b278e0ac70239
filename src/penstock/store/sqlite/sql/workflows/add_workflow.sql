INSERT INTO penstock_workflow (id, name, parent, open, compensate, created_at)
VALUES (:id, :name, :parent, :open, :compensate, :now)
ON CONFLICT (id) DO NOTHING
RETURNING id
