-- Replication slots that keep the log from being removed: (name, whether somebody reads it, bytes kept), the most first.
SELECT
    slot_name::text, active,
    pg_wal_lsn_diff(
        CASE WHEN pg_is_in_recovery() THEN pg_last_wal_replay_lsn() ELSE pg_current_wal_lsn() END, restart_lsn
    )::bigint AS kept
FROM pg_catalog.pg_replication_slots
WHERE restart_lsn IS NOT NULL
ORDER BY kept DESC
LIMIT 3
