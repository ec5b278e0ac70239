SELECT
    (SELECT sum(numbackends)::bigint FROM pg_catalog.pg_stat_database),
    current_setting('max_connections')::bigint - current_setting('superuser_reserved_connections')::bigint
        - coalesce(current_setting('reserved_connections', true), '0')::bigint
