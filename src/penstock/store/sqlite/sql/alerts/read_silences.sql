SELECT rule, scope, since, until, actor, reason FROM penstock_silence ORDER BY rule, scope
