DELETE FROM penstock_scheduled
WHERE (due_at, seq) IN (
    SELECT due_at, seq FROM penstock_scheduled WHERE due_at <= :now ORDER BY due_at, seq LIMIT :limit
)
