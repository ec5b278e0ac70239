SELECT rule, scope, since, until, actor, reason FROM penstock.silence ORDER BY rule, scope
