-- Of which types a worker runs another number at once than it has slots.
ALTER TABLE penstock.worker ADD COLUMN slots_of text;

-- What happened to jobs, counted: by a worker with each of its heartbeats, or by an operation as a part of it. The leader
-- adds pages to the rows that follow.
CREATE TABLE penstock.page (
    entry bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    book text,                          -- Whose it is: of one counter, from its first page on. NULL: an operation's.
    number bigint NOT NULL,             -- Which of its pages, from 1.
    at bigint NOT NULL,                 -- When it was stored.
    tally text NOT NULL,                -- [[[type, queue, capability, figures], …], {org: figures}]
    folded boolean NOT NULL DEFAULT false, -- Whether it is in the rows. The last page of a book stays, to be known again.
    UNIQUE (book, number)
);
CREATE INDEX page_new ON penstock.page (entry) WHERE NOT folded;

-- The figures of a route in a span of time: 60 seconds are kept for 48 hours, 600 for 30 days, 3600 for 400.
CREATE TABLE penstock.figure (
    span bigint NOT NULL,               -- 60, 600 or 3600: for how many seconds a row stands.
    at bigint NOT NULL,                 -- When these began.
    type text NOT NULL, queue text NOT NULL, capability text NOT NULL,
    started bigint NOT NULL DEFAULT 0, completed bigint NOT NULL DEFAULT 0, failed bigint NOT NULL DEFAULT 0,
    retried bigint NOT NULL DEFAULT 0, dead bigint NOT NULL DEFAULT 0, cancelled bigint NOT NULL DEFAULT 0,
    expired bigint NOT NULL DEFAULT 0, timeout bigint NOT NULL DEFAULT 0, start_timeout bigint NOT NULL DEFAULT 0,
    released bigint NOT NULL DEFAULT 0, recovered bigint NOT NULL DEFAULT 0, snoozed bigint NOT NULL DEFAULT 0,
    picked bigint NOT NULL DEFAULT 0,   -- How many were claimed.
    ran double precision NOT NULL DEFAULT 0, -- For how many seconds attempts ran.
    runs bigint NOT NULL DEFAULT 0,     -- How many attempts these are.
    spreads text,                       -- [running, waiting, claiming, attempts], each {place: how many}.
    pending bigint,                     -- How many there were at the last look in these seconds. NULL: nobody did.
    ready bigint, blocked bigint, scheduled bigint, retrying bigint, claimed bigint, running bigint,
    PRIMARY KEY (span, at, type, queue, capability)
);
CREATE INDEX figure_route ON penstock.figure (span, type, queue, capability, at);

-- The same of tenants: those with the most work in each page, and all others as one.
CREATE TABLE penstock.tenant_figure (
    span bigint NOT NULL,
    at bigint NOT NULL,
    org text NOT NULL,
    completed bigint NOT NULL DEFAULT 0,
    failed bigint NOT NULL DEFAULT 0,
    ran double precision NOT NULL DEFAULT 0,
    PRIMARY KEY (span, at, org)
);

-- What waits and runs now, by route, as the leader has counted it last.
CREATE TABLE penstock.gauge (
    type text NOT NULL, queue text NOT NULL, capability text NOT NULL,
    pending bigint NOT NULL DEFAULT 0, ready bigint NOT NULL DEFAULT 0, blocked bigint NOT NULL DEFAULT 0,
    scheduled bigint NOT NULL DEFAULT 0, retrying bigint NOT NULL DEFAULT 0, claimed bigint NOT NULL DEFAULT 0,
    running bigint NOT NULL DEFAULT 0,
    oldest_due_at bigint,               -- Of those that wait and are due.
    workers bigint NOT NULL DEFAULT 0,  -- How many that are active could take it.
    slots double precision,             -- How many jobs each of them could run at once; the last that was known.
    PRIMARY KEY (type, queue, capability)
);

-- One row: when that was, and how many ended jobs were stored then. Dead letters are those that were not retried.
CREATE TABLE penstock.sample (
    id bigint PRIMARY KEY CHECK (id = 1),
    at bigint NOT NULL,
    took bigint NOT NULL,                  -- How long it took to count.
    completed bigint,                   -- NULL: not counted yet.
    cancelled bigint,
    dead bigint,
    expired bigint
);

-- How many workers it takes, as of that moment; NULL where nothing is known. `hours` is what one would take for all.
CREATE VIEW penstock.capacity AS
WITH known AS (
    SELECT
        gauge.*, sample.at AS sampled_at,
        coalesce((
            SELECT sum(figure.completed) FROM penstock.figure AS figure
            WHERE figure.span = 60 AND figure.at > sample.at - 3600000000 AND figure.type = gauge.type
                AND figure.queue = gauge.queue AND figure.capability = gauge.capability
        ), 0)::bigint AS completed_last_hour,
        coalesce((
            SELECT sum(figure.failed) FROM penstock.figure AS figure
            WHERE figure.span = 60 AND figure.at > sample.at - 3600000000 AND figure.type = gauge.type
                AND figure.queue = gauge.queue AND figure.capability = gauge.capability
        ), 0)::bigint AS failed_last_hour,
        (
            SELECT sum(figure.ran) / nullif(sum(figure.runs), 0) FROM penstock.figure AS figure
            WHERE figure.span = 600 AND figure.at > sample.at - 86400000000 AND figure.type = gauge.type
                AND figure.queue = gauge.queue AND figure.capability = gauge.capability
        ) AS seconds
    FROM penstock.gauge AS gauge
    CROSS JOIN penstock.sample AS sample
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
    ceil(reckoned.hours / 1)::bigint AS workers_for_1_hour,
    ceil(reckoned.hours / 4)::bigint AS workers_for_4_hours,
    ceil(reckoned.hours / 8)::bigint AS workers_for_8_hours,
    reckoned.sampled_at
FROM reckoned;

-- As before, and for pages too.
CREATE OR REPLACE FUNCTION penstock.catch_up() RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    one record;
BEGIN
    FOR one IN
        SELECT pg_get_serial_sequence(row.name, row.number)::regclass AS sequence, row.highest
        FROM (VALUES
            ('penstock.lane', 'lane', (SELECT max(lane.lane) FROM penstock.lane)),
            ('penstock.worker', 'session', greatest(
                (SELECT max(worker.session) FROM penstock.worker),
                (SELECT max(app_version.session) FROM penstock.app_version)
            )),
            ('penstock.gate', 'gate', (SELECT max(gate.gate) FROM penstock.gate)),
            ('penstock.history', 'step', (SELECT max(history.step) FROM penstock.history)),
            ('penstock.audit', 'entry', (SELECT max(audit.entry) FROM penstock.audit)),
            ('penstock.page', 'entry', (SELECT max(page.entry) FROM penstock.page))
        ) AS row (name, number, highest)
    LOOP
        IF one.highest > coalesce(pg_sequence_last_value(one.sequence), 0) THEN
            PERFORM setval(one.sequence, one.highest + 1000);  -- Others may be taking numbers at this moment.
        END IF;
    END LOOP;
END
$$;
