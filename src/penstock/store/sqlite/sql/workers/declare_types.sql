INSERT INTO penstock_job_type (name, options, declared_at)
SELECT name.value, options.value, :now
FROM json_each(:names) AS name
JOIN json_each(:options) AS options ON options.key = name.key
WHERE true
ON CONFLICT (name) DO UPDATE SET options = excluded.options, declared_at = excluded.declared_at
WHERE options <> excluded.options
