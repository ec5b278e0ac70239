-- oldest: 1
-- One worker at a time does the periodic duties for all. The term grows with every new holder and fences what the one
-- before still has under way. `lease` is how long the hold was taken for: one that lasts longer than that from now was
-- taken by a clock that has been set back since.
CREATE TABLE penstock.leader (
    id integer PRIMARY KEY CHECK (id = 1),
    term bigint NOT NULL,
    session bigint NOT NULL,
    lease bigint NOT NULL,
    until bigint NOT NULL
);

-- Where a worker answers probes, and whether it did not.
ALTER TABLE penstock.worker ADD COLUMN health text;
ALTER TABLE penstock.worker ADD COLUMN failing boolean NOT NULL DEFAULT false;

-- The worker whose attempt failed: for a while, others are preferred.
ALTER TABLE penstock.waiting ADD COLUMN avoid bigint;

-- Effects that a job runs at most once: begun, and with a value when done.
CREATE TABLE penstock.once (
    id uuid NOT NULL,
    key text NOT NULL,
    token bigint NOT NULL,
    done boolean NOT NULL DEFAULT false,
    value text,
    PRIMARY KEY (id, key)
);
