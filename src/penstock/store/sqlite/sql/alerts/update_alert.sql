UPDATE penstock_alert
SET
    state = :state, severity = :severity, key = :key, since = :since, fired_at = :fired_at, quiet_at = :quiet_at,
    resolved_at = :resolved_at, value = :value, title = :title, message = :message, tags = :tags, told = :told,
    sent = :sent, revision = revision + 1
WHERE rule = :rule AND scope = :scope AND revision = :revision
RETURNING rule, scope
