INSERT INTO penstock_type (name, options, declared_at) VALUES (:name, :options, :now)
ON CONFLICT (name) DO UPDATE SET options = excluded.options, declared_at = excluded.declared_at
WHERE options <> excluded.options
