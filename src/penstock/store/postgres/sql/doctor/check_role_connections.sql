-- The limit of this role, if it has one: (whose limit, in use, room).
SELECT format('the role %%s', me.rolname), count(activity.pid), me.rolconnlimit::bigint
FROM pg_catalog.pg_roles AS me
LEFT JOIN pg_catalog.pg_stat_activity AS activity ON activity.usesysid = me.oid
WHERE me.rolname = current_user AND me.rolconnlimit >= 0 AND NOT me.rolsuper
GROUP BY me.rolname, me.rolconnlimit
