UPDATE penstock.alert
SET
    state = %(state)s::text, severity = %(severity)s::text, key = %(key)s::text, since = %(since)s::bigint,
    fired_at = %(fired_at)s::bigint, quiet_at = %(quiet_at)s::bigint, resolved_at = %(resolved_at)s::bigint,
    value = %(value)s::text::double precision, title = %(title)s::text, message = %(message)s::text, tags = %(tags)s::text,
    told = %(told)s::text, sent = %(sent)s::text, revision = revision + 1
WHERE rule = %(rule)s::text AND scope = %(scope)s::text AND revision = %(revision)s::bigint
RETURNING rule, scope
