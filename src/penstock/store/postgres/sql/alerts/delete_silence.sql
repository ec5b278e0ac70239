DELETE FROM penstock.silence WHERE rule = %(rule)s::text AND scope = %(scope)s::text
RETURNING rule, scope, since, until, actor, reason
