-- The tables with their sizes, their dead and live rows as the statistics know them, whether autovacuum is switched
-- off for them, and whether they are not logged. One that is dropped meanwhile has no size.
SELECT
    class.relname::text, coalesce(pg_total_relation_size(class.oid), 0), pg_stat_get_live_tuples(class.oid),
    pg_stat_get_dead_tuples(class.oid),
    EXISTS (
        SELECT 1 FROM unnest(class.reloptions) AS option
        WHERE option IN ('autovacuum_enabled=false', 'autovacuum_enabled=off', 'autovacuum_enabled=0')
    ),
    class.relpersistence = 'u'
FROM pg_catalog.pg_class AS class
WHERE class.relnamespace = to_regnamespace(split_part('penstock.meta', '.', 1)) AND class.relkind IN ('r', 'p')
ORDER BY 2 DESC, 1
