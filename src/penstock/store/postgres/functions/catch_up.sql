-- Rows that were copied here by themselves, as logical replication does, come without the sequences that gave them their
-- numbers: a number that is there already would be given out again. Called whenever a worker registers; it moves a
-- sequence only where rows are ahead of it, which those that took their numbers from it never are. As its owner, since
-- the roles of workers may not set these sequences.
CREATE OR REPLACE FUNCTION penstock.catch_up() RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    one record;
BEGIN
    FOR one IN
        SELECT pg_get_serial_sequence(row.name, row.number)::regclass AS sequence, row.highest
        FROM (VALUES
            ('penstock.lane', 'lane', (SELECT max(lane.lane) FROM penstock.lane)),
            ('penstock.worker', 'session', greatest(
                (SELECT max(worker.session) FROM penstock.worker),
                (SELECT max(app_version.session) FROM penstock.app_version)
            )),
            ('penstock.gate', 'gate', (SELECT max(gate.gate) FROM penstock.gate)),
            ('penstock.history', 'step', (SELECT max(history.step) FROM penstock.history)),
            ('penstock.audit', 'entry', (SELECT max(audit.entry) FROM penstock.audit)),
            ('penstock.page', 'entry', (SELECT max(page.entry) FROM penstock.page))
        ) AS row (name, number, highest)
    LOOP
        IF one.highest > coalesce(pg_sequence_last_value(one.sequence), 0) THEN
            PERFORM setval(one.sequence, one.highest + 1000);  -- Others may be taking numbers at this moment.
        END IF;
    END LOOP;
END
$$;
