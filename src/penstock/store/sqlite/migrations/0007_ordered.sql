-- Ordered keys: jobs of such a gate pass one after the other, each when the one before it has ended for good.
ALTER TABLE penstock_gate ADD COLUMN ordered INTEGER NOT NULL DEFAULT 0;

-- The places in line before ordered gates, by the due time of the enqueue, which retries do not change. By name and id,
-- since gates are forgotten and made again, and the seq of a removed job may be given again. A ticket of a job that has
-- ended means nothing; it is removed when somebody looks who is first.
CREATE TABLE penstock_ticket (
    name TEXT NOT NULL,
    due_at INTEGER NOT NULL,
    seq INTEGER NOT NULL,
    id TEXT NOT NULL UNIQUE,
    PRIMARY KEY (name, due_at, seq)
) STRICT, WITHOUT ROWID;
