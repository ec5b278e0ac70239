INSERT INTO penstock.workflow (id, name, parent, open, compensate, created_at)
VALUES (
    %(id)s::uuid, %(name)s::text, %(parent)s::uuid, %(open)s::integer, %(compensate)s::text,
    penstock.moment(%(now)s::bigint)
)
ON CONFLICT (id) DO NOTHING
RETURNING id
