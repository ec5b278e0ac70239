-- The oldest transactions that keep dead rows of this database from being cleaned up: open ones that have a snapshot
-- or have written, and prepared ones, which stay until somebody ends them.
SELECT held.who, held.seconds, held.end_it
FROM (
    SELECT
        format(
            'process %%s (%%s, user %%s, %%s)', pid, coalesce(nullif(application_name, ''), backend_type),
            coalesce(usename, '-'), coalesce(state, '-')
        ) AS who,
        extract(epoch FROM clock_timestamp() - xact_start)::float8 AS seconds,
        format('SELECT pg_terminate_backend(%%s)', pid) AS end_it
    FROM pg_catalog.pg_stat_activity
    WHERE pid <> pg_backend_pid() AND (datname = current_database() OR datname IS NULL)
        AND (backend_xmin IS NOT NULL OR backend_xid IS NOT NULL) AND xact_start IS NOT NULL
        AND backend_type <> 'autovacuum worker'
    UNION ALL
    SELECT
        format('the prepared transaction %%L of %%s', gid, owner),
        extract(epoch FROM clock_timestamp() - prepared)::float8,
        format('ROLLBACK PREPARED %%L', gid)
    FROM pg_catalog.pg_prepared_xacts
    WHERE database = current_database()
) AS held
ORDER BY held.seconds DESC
LIMIT 3
