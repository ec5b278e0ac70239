-- Limits. A gate lets at most so many jobs through: at once, or in any span of its period (microseconds). `name` is a
-- filled key, `origin` the key as it was declared, `made` how many permits of it are kept. `wake_at` is when somebody
-- should look whether the next of those that are parked before it may pass.
CREATE TABLE penstock_gate (
    gate INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,
    most INTEGER NOT NULL,
    period INTEGER,
    origin TEXT NOT NULL,
    made INTEGER NOT NULL DEFAULT 0,
    wake_at INTEGER
) STRICT;
CREATE INDEX penstock_gate_wake ON penstock_gate (wake_at) WHERE wake_at IS NOT NULL;

-- What the config says of a key wins over the code.
CREATE TABLE penstock_limit (
    origin TEXT PRIMARY KEY,
    most INTEGER NOT NULL,
    period INTEGER
) STRICT, WITHOUT ROWID;

-- Who has passed a gate. Only those whose lease still exists count, so none can be held by nobody.
CREATE TABLE penstock_hold (
    gate INTEGER NOT NULL,
    token INTEGER NOT NULL,
    at INTEGER NOT NULL,
    PRIMARY KEY (gate, token)
) STRICT, WITHOUT ROWID;
CREATE INDEX penstock_hold_token ON penstock_hold (token);

-- The starts of a gate with a period, as long as they count.
CREATE TABLE penstock_permit (
    gate INTEGER NOT NULL,
    at INTEGER NOT NULL,
    token INTEGER NOT NULL,
    PRIMARY KEY (gate, at, token)
) STRICT, WITHOUT ROWID;

-- Due jobs that wait before a gate which was full, away from those that a claim looks at.
CREATE TABLE penstock_parked (
    gate INTEGER NOT NULL,
    lane INTEGER NOT NULL,
    priority INTEGER NOT NULL,
    due_at INTEGER NOT NULL,
    seq INTEGER NOT NULL UNIQUE,
    PRIMARY KEY (gate, lane, priority DESC, due_at, seq)
) STRICT, WITHOUT ROWID;

-- The gates of a job: [[name, most, period, origin], …].
ALTER TABLE penstock_job ADD COLUMN gates TEXT;
