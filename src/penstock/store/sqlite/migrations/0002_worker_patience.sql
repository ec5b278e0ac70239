-- How long a worker may be silent before it counts as lost, in microseconds: each is judged by its own heartbeat.
-- Rows from before get three heartbeats of the default ten seconds.
ALTER TABLE penstock_worker ADD COLUMN stale_after INTEGER NOT NULL DEFAULT 30000000;
