SELECT id FROM penstock_workflow
WHERE state = :state AND ended_at IS NOT NULL AND ended_at < :now - :age
ORDER BY ended_at
LIMIT :limit
