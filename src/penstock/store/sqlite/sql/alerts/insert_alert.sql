INSERT INTO penstock_alert (
    rule, scope, state, severity, key, since, fired_at, quiet_at, resolved_at, value, title, message, tags, told, sent,
    revision
)
VALUES (
    :rule, :scope, :state, :severity, :key, :since, :fired_at, :quiet_at, :resolved_at, :value, :title, :message, :tags,
    :told, :sent, 1
)
ON CONFLICT DO NOTHING
RETURNING rule, scope
