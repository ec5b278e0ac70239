INSERT INTO penstock.silence (rule, scope, since, until, actor, reason)
VALUES (
    %(rule)s::text, %(scope)s::text, penstock.moment(%(now)s::bigint),
    penstock.moment(%(now)s::bigint) + %(lasts)s::bigint, %(actor)s::text, %(reason)s::text
)
ON CONFLICT (rule, scope) DO UPDATE SET
    since = excluded.since, until = excluded.until, actor = excluded.actor, reason = excluded.reason
RETURNING rule, scope, since, until, actor, reason
