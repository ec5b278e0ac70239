-- What limits the connections of this role: (whose limit, in use, room). Superusers have room of their own, and are
-- under none of the other limits.
SELECT
    'the server', (SELECT sum(numbackends)::bigint FROM pg_catalog.pg_stat_database),
    current_setting('max_connections')::bigint - current_setting('superuser_reserved_connections')::bigint
        - coalesce(current_setting('reserved_connections', true), '0')::bigint
UNION ALL
SELECT format('the database %%s', data.datname), stat.numbackends::bigint, data.datconnlimit::bigint
FROM pg_catalog.pg_database AS data
JOIN pg_catalog.pg_stat_database AS stat ON stat.datid = data.oid
JOIN pg_catalog.pg_roles AS me ON me.rolname = current_user
WHERE data.datname = current_database() AND data.datconnlimit >= 0 AND NOT me.rolsuper
