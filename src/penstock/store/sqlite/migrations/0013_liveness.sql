-- oldest: 9
-- A mark of the leader (failing, unreached) is over after so many more heartbeats, unless it is renewed.
ALTER TABLE penstock_worker ADD COLUMN marked INTEGER NOT NULL DEFAULT 0;
-- One that was set before has no end.
UPDATE penstock_worker SET failing = 0 WHERE failing;
-- Whether the leader has never got an answer from where the worker answers probes.
ALTER TABLE penstock_worker ADD COLUMN unreached INTEGER NOT NULL DEFAULT 0;
-- Which process it is, so that another on its machine can tell whether it still runs.
ALTER TABLE penstock_worker ADD COLUMN process TEXT;
