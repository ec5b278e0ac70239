-- oldest: 9
-- A mark of the leader (failing, unreached) is over after so many more heartbeats, unless it is renewed.
ALTER TABLE penstock.worker ADD COLUMN marked integer NOT NULL DEFAULT 0;
-- One that was set before has no end.
UPDATE penstock.worker SET failing = false WHERE failing;
-- Whether the leader has never got an answer from where the worker answers probes.
ALTER TABLE penstock.worker ADD COLUMN unreached boolean NOT NULL DEFAULT false;
-- Which process it is, so that another on its machine can tell whether it still runs.
ALTER TABLE penstock.worker ADD COLUMN process text;
