-- Of which types a worker runs another number at once than it has slots.
ALTER TABLE penstock_worker ADD COLUMN slots_of TEXT;

-- What happened to jobs, counted: by a worker with each of its heartbeats, or by an operation as a part of it. The leader
-- adds pages to the rows that follow.
CREATE TABLE penstock_page (
    entry INTEGER PRIMARY KEY,
    book TEXT,                          -- Whose it is: of one counter, from its first page on. NULL: an operation's.
    number INTEGER NOT NULL,            -- Which of its pages, from 1.
    at INTEGER NOT NULL,                -- When it was stored.
    tally TEXT NOT NULL,                -- [[[type, queue, capability, figures], …], {org: figures}]
    folded INTEGER NOT NULL DEFAULT 0,  -- Whether it is in the rows. The last page of a book stays, to be known again.
    UNIQUE (book, number)
) STRICT;
CREATE INDEX penstock_page_new ON penstock_page (entry) WHERE folded = 0;

-- The figures of a route in a span of time: 60 seconds are kept for 48 hours, 600 for 30 days, 3600 for 400.
CREATE TABLE penstock_figure (
    span INTEGER NOT NULL,              -- 60, 600 or 3600: for how many seconds a row stands.
    at INTEGER NOT NULL,                -- When these began.
    type TEXT NOT NULL, queue TEXT NOT NULL, capability TEXT NOT NULL,
    started INTEGER NOT NULL DEFAULT 0, completed INTEGER NOT NULL DEFAULT 0, failed INTEGER NOT NULL DEFAULT 0,
    retried INTEGER NOT NULL DEFAULT 0, dead INTEGER NOT NULL DEFAULT 0, cancelled INTEGER NOT NULL DEFAULT 0,
    expired INTEGER NOT NULL DEFAULT 0, timeout INTEGER NOT NULL DEFAULT 0, start_timeout INTEGER NOT NULL DEFAULT 0,
    released INTEGER NOT NULL DEFAULT 0, recovered INTEGER NOT NULL DEFAULT 0, snoozed INTEGER NOT NULL DEFAULT 0,
    picked INTEGER NOT NULL DEFAULT 0,  -- How many were claimed.
    ran REAL NOT NULL DEFAULT 0,        -- For how many seconds attempts ran.
    runs INTEGER NOT NULL DEFAULT 0,    -- How many attempts these are.
    spreads TEXT,                       -- [running, waiting, claiming, attempts], each {place: how many}.
    pending INTEGER,                    -- How many there were at the last look in these seconds. NULL: nobody did.
    ready INTEGER, blocked INTEGER, scheduled INTEGER, retrying INTEGER, claimed INTEGER, running INTEGER,
    PRIMARY KEY (span, at, type, queue, capability)
) STRICT, WITHOUT ROWID;
CREATE INDEX penstock_figure_route ON penstock_figure (span, type, queue, capability, at);

-- The same of tenants: those with the most work in each page, and all others as one.
CREATE TABLE penstock_tenant_figure (
    span INTEGER NOT NULL,
    at INTEGER NOT NULL,
    org TEXT NOT NULL,
    completed INTEGER NOT NULL DEFAULT 0,
    failed INTEGER NOT NULL DEFAULT 0,
    ran REAL NOT NULL DEFAULT 0,
    PRIMARY KEY (span, at, org)
) STRICT, WITHOUT ROWID;

-- What waits and runs now, by route, as the leader has counted it last.
CREATE TABLE penstock_gauge (
    type TEXT NOT NULL, queue TEXT NOT NULL, capability TEXT NOT NULL,
    pending INTEGER NOT NULL DEFAULT 0, ready INTEGER NOT NULL DEFAULT 0, blocked INTEGER NOT NULL DEFAULT 0,
    scheduled INTEGER NOT NULL DEFAULT 0, retrying INTEGER NOT NULL DEFAULT 0, claimed INTEGER NOT NULL DEFAULT 0,
    running INTEGER NOT NULL DEFAULT 0,
    oldest_due_at INTEGER,              -- Of those that wait and are due.
    workers INTEGER NOT NULL DEFAULT 0, -- How many that are active could take it.
    slots REAL,                         -- How many jobs each of them could run at once; the last that was known.
    PRIMARY KEY (type, queue, capability)
) STRICT, WITHOUT ROWID;

-- One row: when that was, and how many ended jobs were stored then. Dead letters are those that were not retried.
CREATE TABLE penstock_sample (
    id INTEGER PRIMARY KEY CHECK (id = 1),
    at INTEGER NOT NULL,
    took INTEGER NOT NULL,              -- How long it took to count.
    completed INTEGER,                  -- NULL: not counted yet.
    cancelled INTEGER,
    dead INTEGER,
    expired INTEGER
) STRICT;

-- How many workers it takes, as of that moment; NULL where nothing is known. `hours` is what one would take for all.
CREATE VIEW penstock_capacity AS
WITH known AS (
    SELECT
        gauge.*, sample.at AS sampled_at,
        coalesce((
            SELECT sum(figure.completed) FROM penstock_figure AS figure
            WHERE figure.span = 60 AND figure.at > sample.at - 3600000000 AND figure.type = gauge.type
                AND figure.queue = gauge.queue AND figure.capability = gauge.capability
        ), 0) AS completed_last_hour,
        coalesce((
            SELECT sum(figure.failed) FROM penstock_figure AS figure
            WHERE figure.span = 60 AND figure.at > sample.at - 3600000000 AND figure.type = gauge.type
                AND figure.queue = gauge.queue AND figure.capability = gauge.capability
        ), 0) AS failed_last_hour,
        (
            SELECT sum(figure.ran) / nullif(sum(figure.runs), 0) FROM penstock_figure AS figure
            WHERE figure.span = 600 AND figure.at > sample.at - 86400000000 AND figure.type = gauge.type
                AND figure.queue = gauge.queue AND figure.capability = gauge.capability
        ) AS seconds
    FROM penstock_gauge AS gauge
    CROSS JOIN penstock_sample AS sample
),
reckoned AS (
    SELECT
        known.*, 3600.0 / nullif(known.seconds, 0) * known.slots AS rate,
        known.pending / (3600.0 / nullif(known.seconds, 0) * nullif(known.slots, 0)) AS hours
    FROM known
)
SELECT
    reckoned.type, reckoned.queue, reckoned.capability, reckoned.pending, reckoned.ready, reckoned.claimed,
    reckoned.running, reckoned.completed_last_hour, reckoned.failed_last_hour, reckoned.workers AS active_workers,
    reckoned.seconds AS avg_duration_seconds, reckoned.rate AS jobs_per_worker_hour,
    reckoned.hours / nullif(reckoned.workers, 0) AS hours_to_drain,
    CAST(reckoned.hours / 1 AS INTEGER)
        + (reckoned.hours / 1 > CAST(reckoned.hours / 1 AS INTEGER)) AS workers_for_1_hour,
    CAST(reckoned.hours / 4 AS INTEGER)
        + (reckoned.hours / 4 > CAST(reckoned.hours / 4 AS INTEGER)) AS workers_for_4_hours,
    CAST(reckoned.hours / 8 AS INTEGER)
        + (reckoned.hours / 8 > CAST(reckoned.hours / 8 AS INTEGER)) AS workers_for_8_hours,
    reckoned.sampled_at
FROM reckoned;
