-- oldest: 1
-- One worker at a time does the periodic duties for all. The term grows with every new holder and fences what the one
-- before still has under way. `lease` is how long the hold was taken for: one that lasts longer than that from now was
-- taken by a clock that has been set back since.
CREATE TABLE penstock_leader (
    id INTEGER PRIMARY KEY CHECK (id = 1),
    term INTEGER NOT NULL,
    session INTEGER NOT NULL,
    lease INTEGER NOT NULL,
    until INTEGER NOT NULL
) STRICT;

-- Where a worker answers probes, and whether it did not.
ALTER TABLE penstock_worker ADD COLUMN health TEXT;
ALTER TABLE penstock_worker ADD COLUMN failing INTEGER NOT NULL DEFAULT 0;

-- The worker whose attempt failed: for a while, others are preferred.
ALTER TABLE penstock_job ADD COLUMN avoid INTEGER;
ALTER TABLE penstock_ready ADD COLUMN avoid INTEGER;

-- Effects that a job runs at most once: begun, and with a value when done.
CREATE TABLE penstock_once (
    seq INTEGER NOT NULL,
    key TEXT NOT NULL,
    token INTEGER NOT NULL,
    done INTEGER NOT NULL DEFAULT 0,
    value TEXT,
    PRIMARY KEY (seq, key)
) STRICT, WITHOUT ROWID;
