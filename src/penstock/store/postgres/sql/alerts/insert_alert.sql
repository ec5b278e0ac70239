INSERT INTO penstock.alert (
    rule, scope, state, severity, key, since, fired_at, quiet_at, resolved_at, value, title, message, tags, told, sent,
    revision
)
VALUES (
    %(rule)s::text, %(scope)s::text, %(state)s::text, %(severity)s::text, %(key)s::text, %(since)s::bigint,
    %(fired_at)s::bigint, %(quiet_at)s::bigint, %(resolved_at)s::bigint, %(value)s::text::double precision, %(title)s::text,
    %(message)s::text, %(tags)s::text, %(told)s::text, %(sent)s::text, 1
)
ON CONFLICT DO NOTHING
RETURNING rule, scope
