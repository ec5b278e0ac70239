INSERT INTO penstock.pause (kind, name, since, actor, reason)
SELECT %(kind)s::text, name, penstock.moment(%(now)s::bigint), %(actor)s::text, %(reason)s::text
FROM unnest(%(names)s::text[]) AS name
ON CONFLICT DO NOTHING
RETURNING name
