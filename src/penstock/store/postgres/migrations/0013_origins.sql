-- oldest: 9
-- Which span of a trace enqueued the job, as W3C traceparent writes it.
ALTER TABLE penstock.job ADD COLUMN traceparent text;
-- How often a handler has put the job back without spending an attempt. NULL: never.
ALTER TABLE penstock.job ADD COLUMN snoozes integer;
-- What the error has in common with others of the same cause. It stands wherever an error does: the job's is that of its
-- last failure, the history's that of each.
ALTER TABLE penstock.job ADD COLUMN fingerprint text;
ALTER TABLE penstock.history ADD COLUMN fingerprint text;

-- Which version of the app a worker runs. Leases, outcomes and history name the session, and so the version of each
-- attempt costs them nothing; a row outlives that of its worker, as outcomes do.
CREATE TABLE penstock.app_version (
    session bigint PRIMARY KEY,
    version text NOT NULL,
    started_at bigint NOT NULL
);

-- As before; no session is given out again whose version is still there.
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
            ('penstock.audit', 'entry', (SELECT max(audit.entry) FROM penstock.audit))
        ) AS row (name, number, highest)
    LOOP
        IF one.highest > coalesce(pg_sequence_last_value(one.sequence), 0) THEN
            PERFORM setval(one.sequence, one.highest + 1000);  -- Others may be taking numbers at this moment.
        END IF;
    END LOOP;
END
$$;
