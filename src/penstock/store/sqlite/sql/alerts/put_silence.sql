INSERT INTO penstock_silence (rule, scope, since, until, actor, reason)
VALUES (:rule, :scope, :now, :now + :lasts, :actor, :reason)
ON CONFLICT (rule, scope) DO UPDATE SET
    since = excluded.since, until = excluded.until, actor = excluded.actor, reason = excluded.reason
RETURNING rule, scope, since, until, actor, reason
