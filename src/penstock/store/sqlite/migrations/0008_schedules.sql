-- oldest: 7
-- Jobs that are enqueued by the clock. What is due when is reckoned by whoever leads; `next_at` is the result. Workers of
-- a penstock that knows only older versions do not look here: while one of them leads, schedules are late.
CREATE TABLE penstock_schedule (
    name TEXT PRIMARY KEY,
    plan TEXT NOT NULL,
    status TEXT NOT NULL CHECK (status IN ('active', 'paused', 'removed')),
    next_at INTEGER,
    fires INTEGER NOT NULL,
    anchor INTEGER NOT NULL,
    last_at INTEGER,
    last_job TEXT,
    declared TEXT,
    created_at INTEGER NOT NULL,
    changed_at INTEGER NOT NULL,
    changed_by TEXT NOT NULL,
    revision INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX penstock_schedule_due ON penstock_schedule (next_at) WHERE status = 'active' AND next_at IS NOT NULL;
