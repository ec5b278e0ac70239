-- oldest: 9
-- Which span of a trace enqueued the job, as W3C traceparent writes it.
ALTER TABLE penstock_job ADD COLUMN traceparent TEXT;
-- How often a handler has put the job back without spending an attempt. NULL: never.
ALTER TABLE penstock_job ADD COLUMN snoozes INTEGER;
-- What the error has in common with others of the same cause. It stands wherever an error does: the job's is that of its
-- last failure, the history's that of each.
ALTER TABLE penstock_job ADD COLUMN fingerprint TEXT;
ALTER TABLE penstock_history ADD COLUMN fingerprint TEXT;

-- Which version of the app a worker runs. Leases, outcomes and history name the session, and so the version of each
-- attempt costs them nothing; a row outlives that of its worker, as outcomes do.
CREATE TABLE penstock_app_version (
    session INTEGER PRIMARY KEY,
    version TEXT NOT NULL,
    started_at INTEGER NOT NULL
) STRICT;
