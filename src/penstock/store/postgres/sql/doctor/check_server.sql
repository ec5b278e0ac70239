-- What every role may ask of the server. A view whose right was taken away is answered as NULL by the others.
SELECT
    current_setting('server_version_num')::integer, current_setting('server_version'),
    current_setting('server_encoding'), current_database()::text, current_user::text,
    current_setting('fsync') = 'on', current_setting('full_page_writes') = 'on', current_setting('synchronous_commit'),
    current_setting('synchronous_standby_names') <> '', pg_is_in_recovery(), current_setting('default_transaction_read_only') = 'on',
    current_setting('autovacuum') = 'on' AND current_setting('track_counts') = 'on',
    has_table_privilege('pg_catalog.pg_stat_database', 'SELECT'),
    has_table_privilege('pg_catalog.pg_stat_activity', 'SELECT')
        AND has_table_privilege('pg_catalog.pg_prepared_xacts', 'SELECT'),
    pg_has_role('pg_read_all_stats', 'USAGE'),
    has_table_privilege('pg_catalog.pg_stat_all_tables', 'SELECT'),
    has_table_privilege('pg_catalog.pg_replication_slots', 'SELECT')
