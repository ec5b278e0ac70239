INSERT INTO penstock.job_type AS known (name, options, declared_at)
SELECT row.name, row.options, penstock.moment(%(now)s::bigint)
FROM unnest(%(names)s::text[], %(options)s::text[]) AS row (name, options)
ORDER BY row.name
ON CONFLICT (name) DO UPDATE SET options = excluded.options, declared_at = excluded.declared_at
WHERE known.options <> excluded.options
