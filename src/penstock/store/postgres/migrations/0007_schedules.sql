-- oldest: 6
-- Jobs that are enqueued by the clock. What is due when is reckoned by whoever leads; `next_at` is the result. Workers of
-- a penstock that knows only older versions do not look here: while one of them leads, schedules are late.
CREATE TABLE penstock.schedule (
    name text COLLATE "C" PRIMARY KEY,
    plan text NOT NULL,
    status text NOT NULL CHECK (status IN ('active', 'paused', 'removed')),
    next_at bigint,
    fires bigint NOT NULL,
    anchor bigint NOT NULL,
    last_at bigint,
    last_job text,
    declared text,
    created_at bigint NOT NULL,
    changed_at bigint NOT NULL,
    changed_by text NOT NULL,
    revision bigint NOT NULL
);
CREATE INDEX schedule_due ON penstock.schedule (next_at) WHERE status = 'active' AND next_at IS NOT NULL;
