DELETE FROM penstock_silence WHERE rule = :rule AND scope = :scope RETURNING rule, scope, since, until, actor, reason
