INSERT INTO penstock.audit (at, actor, action, detail)
VALUES (penstock.moment(%(now)s::bigint), %(actor)s::text, %(action)s::text, %(detail)s::text)
