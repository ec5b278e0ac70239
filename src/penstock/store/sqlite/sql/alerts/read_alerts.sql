SELECT
    rule, scope, state, severity, key, since, fired_at, quiet_at, resolved_at, value, title, message, tags, told, sent,
    revision
FROM penstock_alert
ORDER BY resolved_at IS NOT NULL, resolved_at DESC, since DESC, rule, scope
LIMIT :limit
