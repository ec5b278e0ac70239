INSERT INTO penstock.lane (type, queue, capability, resources, priority)
SELECT %(type)s::text, %(queue)s::text, %(capability)s::text, %(resources)s::text, %(priority)s::integer
WHERE NOT EXISTS (
    SELECT 1 FROM penstock.lane
    WHERE type = %(type)s::text AND queue = %(queue)s::text AND capability = %(capability)s::text
        AND resources = %(resources)s::text AND priority = %(priority)s::integer
)
ON CONFLICT DO NOTHING
