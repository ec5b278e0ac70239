-- The tables as they are, to be read from top to bottom; the functions are in functions/, a file each. A store is made and
-- brought up by the files in migrations/; a test holds that they come to what is written here and there.
--
-- A job is a body in job. Where it is says what state it is in: at most one of the tables that follow it points to it, by
-- its id. Unless another unit is named, moments (…_at) are microseconds since 1970 by the server's clock, spans of time
-- are microseconds too, a "session" is the number of a worker's row, a "token" that of a lease, and texts in {braces} or
-- [brackets] are JSON. Tables whose rows come and go all the time are vacuumed early, before the dead ones are many.

-- What this schema is. The keys are `schema_version`, the last migration that was applied, and `oldest`, the oldest
-- version whose programs may still use it.
CREATE TABLE penstock.meta (
    key text PRIMARY KEY,
    value bigint NOT NULL
);


-- The job

-- Everything that a claim filters on, and the priority, as a number: each combination that was ever enqueued. Rows are
-- only added.
CREATE TABLE penstock.lane (
    lane integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    type text NOT NULL,
    queue text NOT NULL,
    capability text NOT NULL,
    resources text NOT NULL,                -- What a job needs, as {cpu, memory, gpu}; '' is nothing.
    priority integer NOT NULL,              -- -100 to 100, higher first.
    UNIQUE (type, queue, capability, resources, priority)
);

-- The body. Written once at enqueue; touched again only when an attempt does not end the job.
CREATE TABLE penstock.job (
    id uuid PRIMARY KEY,                    -- Begins with the moment of the enqueue.
    lane integer NOT NULL,
    due_at bigint NOT NULL,                 -- When it may begin: of the enqueue, then of each retry.
    created_at bigint NOT NULL,
    attempt integer NOT NULL DEFAULT 0,     -- How many are spent.
    crashes integer NOT NULL DEFAULT 0,     -- How many of them took their worker or its process along.
    snoozes integer,                        -- How often a handler put it back without spending an attempt. NULL: never.
    payload text NOT NULL,                  -- {field: value, …}
    policy text,                            -- How it is run and kept, {a, b, t, l, rc, rf, s}; NULL is all by default.
    org text,                               -- Its tenant, and a part of that.
    workspace text,
    tags text[],
    parent uuid,                            -- The job or workflow that made it.
    retried_from uuid,                      -- The dead letter that it tries again.
    unique_key text,                        -- What no other job may hold meanwhile: the table unique_key.
    gates text,                             -- Its limits: [[name, most, period, origin, ordered, declarer], …].
    traceparent text,                       -- The span of a trace that enqueued it, as W3C writes it.
    error text,                             -- Its last failure: {type, message, code, stack, …}.
    fingerprint text                        -- What that has in common with others of the same cause.
);
-- Who was made by a job, or belongs to a workflow.
CREATE INDEX job_parent ON penstock.job (parent) WHERE parent IS NOT NULL;
-- Which jobs name a limit. A job's own come first, at most one at once and one rate.
CREATE INDEX job_gate ON penstock.job ((gates::jsonb -> 0 ->> 0), id) WHERE gates IS NOT NULL;
CREATE INDEX job_other_gate ON penstock.job ((gates::jsonb -> 1 ->> 0), id)
WHERE gates IS NOT NULL AND gates::jsonb -> 1 ->> 0 IS NOT NULL;


-- Where it is

-- Pending or scheduled: due now or later. lane and due_at are those of the job.
CREATE TABLE penstock.waiting (
    lane integer NOT NULL,
    due_at bigint NOT NULL,
    id uuid NOT NULL,
    expires_at bigint,                      -- When its time-to-live is over. NULL: it has none, or was tried already.
    xid xid8 NOT NULL DEFAULT pg_current_xact_id(), -- Who put it here: a claim finds what was committed since its last.
    avoid bigint,                           -- The session whose attempt failed: for a while, others are preferred.
    org text COLLATE "C",                   -- As in the job: the tenants of a queue take turns.
    PRIMARY KEY (lane, due_at, id)
);
CREATE INDEX waiting_xid ON penstock.waiting (xid);
CREATE INDEX waiting_expires ON penstock.waiting (expires_at) WHERE expires_at IS NOT NULL;
CREATE INDEX waiting_org ON penstock.waiting (lane, org, due_at, id) WHERE org IS NOT NULL;
ALTER TABLE penstock.waiting SET (autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_threshold = 1000);

-- Blocked: due, and before a limit that was full, away from those that a claim looks at.
CREATE TABLE penstock.parked (
    gate bigint NOT NULL,
    lane integer NOT NULL,
    due_at bigint NOT NULL,
    id uuid NOT NULL UNIQUE,
    expires_at bigint,
    org text COLLATE "C" NOT NULL DEFAULT '', -- '' is nobody's: they are one of those who take turns.
    PRIMARY KEY (gate, lane, org, due_at, id)
);
CREATE INDEX parked_expires ON penstock.parked (expires_at) WHERE expires_at IS NOT NULL;
ALTER TABLE penstock.parked SET (autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_threshold = 1000);

-- Claimed or running. The token is the fence: it only ever grows, and every write of an attempt must match it.
CREATE SEQUENCE penstock.token;
CREATE TABLE penstock.lease (
    token bigint PRIMARY KEY,
    id uuid NOT NULL UNIQUE,
    attempt integer NOT NULL,               -- The one that this is, from 1.
    session bigint NOT NULL,                -- The worker that has it.
    claimed_at bigint NOT NULL,
    started_at bigint,                      -- When its handler began, by the worker's clock. NULL: not yet.
    progress text,                          -- The last that it told, {phase, percent, …}.
    cancel boolean NOT NULL DEFAULT false   -- Whether a person asked to stop it.
);
CREATE INDEX lease_cancel ON penstock.lease (token) WHERE cancel;
ALTER TABLE penstock.lease SET (autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_threshold = 1000);

-- Ended, until retention removes it with its body.
CREATE TABLE penstock.outcome (
    id uuid PRIMARY KEY,
    state smallint NOT NULL,                -- 1 completed, 2 dead, 3 cancelled, 4 expired.
    attempt integer NOT NULL,
    session bigint,
    claimed_at bigint,
    started_at bigint,
    finished_at bigint NOT NULL,
    result text,                            -- What its handler returned, as JSON.
    progress text,
    reason text,                            -- Why it ended so, for people. Its error is in the job.
    decided_by text,                        -- worker, recovery, start-timeout, ttl, routing, store or operator.
    retried_as uuid,                        -- The job that tries it again.
    keep integer                            -- How many such of its type are kept. NULL: as long as retention says.
);
CREATE INDEX outcome_finished ON penstock.outcome (state, finished_at);
CREATE INDEX outcome_keep ON penstock.outcome (keep) WHERE keep IS NOT NULL;


-- What else is known of it

-- Single steps: retries, recoveries, what people did; with history = all each claim, start and end.
CREATE TABLE penstock.history (
    step bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    id uuid NOT NULL,
    at bigint NOT NULL,
    event text NOT NULL,                    -- What happened, in a word.
    attempt integer NOT NULL,
    session bigint,
    reason text,
    error text,                             -- Of a failed attempt, as in the job.
    fingerprint text                        -- Of that error.
);
CREATE INDEX history_job ON penstock.history (id);

-- Effects that a job runs at most once over all its attempts.
CREATE TABLE penstock.once (
    id uuid NOT NULL,
    key text NOT NULL,
    token bigint NOT NULL,                  -- The attempt that began it.
    done boolean NOT NULL DEFAULT false,
    value text,                             -- What it answered, as JSON, once it is done.
    PRIMARY KEY (id, key)
);

-- Keys of which one job at a time may be there.
CREATE TABLE penstock.unique_key (
    key text PRIMARY KEY,
    id uuid NOT NULL,                       -- The job that holds it.
    expires_at bigint                       -- NULL: until the job has ended.
);


-- Limits

-- A gate lets at most so many jobs through: at once, or in any span of its period. Made when a job needs it, forgotten
-- when none does.
CREATE TABLE penstock.gate (
    gate bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name text NOT NULL UNIQUE,              -- Its kind and its filled key, such as key:store:7 or rate:stripe.
    most bigint NOT NULL,
    period bigint,                          -- NULL: at once.
    origin text NOT NULL,                   -- Its kind and its key as it was declared, such as key:store:{store_id}.
    declarer text,                          -- The type that stands for its number; '' is one enqueue, NULL is not known.
    ordered boolean NOT NULL DEFAULT false, -- One after the other, each when the one before has ended for good.
    made bigint NOT NULL DEFAULT 0,         -- How many permits of it are kept.
    wake_at bigint,                         -- When to look whether the next of those parked before it may pass.
    last_org text COLLATE "C" NOT NULL DEFAULT '' -- The tenant that was let through last.
);
CREATE INDEX gate_wake ON penstock.gate (wake_at) WHERE wake_at IS NOT NULL;
ALTER TABLE penstock.gate SET (autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_threshold = 1000);

-- What the config says of a key wins over the code.
CREATE TABLE penstock.gate_limit (
    origin text PRIMARY KEY,
    most bigint NOT NULL,
    period bigint
);

-- Who has passed a gate. Only those whose lease still exists count, so none can be held by nobody.
CREATE TABLE penstock.hold (
    gate bigint NOT NULL, token bigint NOT NULL, at bigint NOT NULL,
    PRIMARY KEY (gate, token)
);
CREATE INDEX hold_token ON penstock.hold (token);
ALTER TABLE penstock.hold SET (autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_threshold = 1000);

-- The starts of a gate with a period, as long as they count.
CREATE TABLE penstock.permit (
    gate bigint NOT NULL, at bigint NOT NULL, token bigint NOT NULL,
    PRIMARY KEY (gate, at, token)
);
ALTER TABLE penstock.permit SET (autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_threshold = 1000);

-- The places in line before ordered gates, as they were enqueued for one moment. By name, since gates are forgotten and
-- made again, and are not locked in a transaction of the caller's. A ticket of a job that has ended means nothing; it is
-- removed when somebody looks who is first.
CREATE TABLE penstock.ticket (
    name text NOT NULL,                     -- That of the gate.
    due_at bigint NOT NULL,                 -- Of the enqueue: retries do not change it.
    number bigint GENERATED ALWAYS AS IDENTITY,
    id uuid NOT NULL UNIQUE,
    PRIMARY KEY (name, due_at, number)
);
ALTER TABLE penstock.ticket SET (autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_threshold = 1000);


-- Workers

CREATE TABLE penstock.worker (
    session bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    id text NOT NULL,                       -- Its name, of which one at a time is alive.
    host text NOT NULL,
    pid integer NOT NULL,
    process text,                           -- Which process of that pid, for others on its machine.
    version text NOT NULL,                  -- Of penstock.
    status text NOT NULL,                   -- active, draining, inactive or lost.
    slots integer NOT NULL, slots_of text,  -- How many jobs at once; of types with another number {type: number}.
    types text NOT NULL,                    -- [type, …] that it runs; null is all.
    queues text,                            -- [queue, …]; NULL is all.
    capabilities text NOT NULL,             -- [capability, …]
    resources text,                         -- What it has, {cpu, memory, gpu}; NULL is no bound.
    health text,                            -- The address where it answers probes.
    failing boolean NOT NULL DEFAULT false, -- Whether it does not answer them: it is given nothing.
    unreached boolean NOT NULL DEFAULT false, -- Whether the leader has never had an answer: it is not judged by that.
    marked integer NOT NULL DEFAULT 0,      -- After how many more heartbeats these two are over, unless renewed.
    started_at bigint NOT NULL,
    heartbeat_at bigint NOT NULL,
    stale_after bigint NOT NULL             -- For how long it may be silent before it counts as lost.
);
CREATE INDEX worker_id ON penstock.worker (id);
-- Two workers that start at once under one id: the second is refused.
CREATE UNIQUE INDEX worker_alive ON penstock.worker (id) WHERE status IN ('active', 'draining');

-- Which version of the app each runs, or ran: kept for the attempts that name the session when the worker is removed.
CREATE TABLE penstock.app_version (
    session bigint PRIMARY KEY,
    version text NOT NULL,
    started_at bigint NOT NULL
);

-- The job types that programs have declared, for enqueues by name and for retries.
CREATE TABLE penstock.job_type (
    name text PRIMARY KEY,
    options text NOT NULL,                  -- {option: value, …}
    declared_at bigint NOT NULL
);

-- One row: who does for all what is to be done once.
CREATE TABLE penstock.leader (
    id integer PRIMARY KEY CHECK (id = 1),
    term bigint NOT NULL,                   -- Grows with every new holder, and fences what the one before still does.
    session bigint NOT NULL,
    lease bigint NOT NULL,                  -- For how long it was taken: a longer rest is one of a clock that was set back.
    until bigint NOT NULL                   -- A moment.
);

-- Queues and job types whose jobs are not given out.
CREATE TABLE penstock.pause (
    kind text NOT NULL CHECK (kind IN ('queue', 'type')),
    name text NOT NULL,
    since bigint NOT NULL,                  -- A moment.
    actor text NOT NULL,                    -- Who did it.
    reason text,
    PRIMARY KEY (kind, name)
);

-- One row: a number that grows with every pause, resume, drain and resize, so that claims know when to look again.
CREATE TABLE penstock.order_number (
    id integer PRIMARY KEY CHECK (id = 1),
    number bigint NOT NULL
);
INSERT INTO penstock.order_number VALUES (1, 0);


-- Schedules

-- Jobs that are enqueued by the clock. What is due when is reckoned by whoever leads.
CREATE TABLE penstock.schedule (
    name text COLLATE "C" PRIMARY KEY,
    plan text NOT NULL,                     -- {timing, payload, spec, …}: all that a person or a program decides.
    status text NOT NULL CHECK (status IN ('active', 'paused', 'removed')),
    next_at bigint,                         -- Its next tick. NULL: there is none any more.
    fires bigint NOT NULL,                  -- How often it has fired.
    anchor bigint NOT NULL,                 -- The moment from which intervals are counted.
    last_at bigint,                         -- Its last tick that fired, and the id of the job of it.
    last_job text,
    declared text,                          -- The plan that a program has declared last. NULL: a person has added it.
    created_at bigint NOT NULL,
    changed_at bigint NOT NULL,
    changed_by text NOT NULL,
    revision bigint NOT NULL                -- Grows with every change: of two who change it at once, one begins again.
);
CREATE INDEX schedule_due ON penstock.schedule (next_at) WHERE status = 'active' AND next_at IS NOT NULL;


-- Workflows

-- States are 0 running, 1 completed, 2 failed, 3 cancelled. Whoever changes anything of a workflow locks its row first.
CREATE TABLE penstock.workflow (
    id uuid PRIMARY KEY,
    name text NOT NULL,
    parent uuid,                            -- The job that made it.
    state smallint NOT NULL DEFAULT 0,
    stop smallint NOT NULL DEFAULT 0,       -- 0 while later steps may begin, else the state in which it will end.
    open integer NOT NULL,                  -- How many steps have not ended.
    compensate text,                        -- The job that is enqueued when it has failed, as {id, payload, spec, …}.
    created_at bigint NOT NULL,
    ended_at bigint
);
CREATE INDEX workflow_ended ON penstock.workflow (state, ended_at) WHERE ended_at IS NOT NULL;
-- What is planned and may still begin is found by the workflows that run.
CREATE INDEX workflow_running ON penstock.workflow (id) WHERE state = 0;

CREATE TABLE penstock.step (
    workflow uuid NOT NULL,
    step integer NOT NULL,                  -- Its number in the workflow, from 0.
    name text NOT NULL,
    on_failure text NOT NULL,               -- stop or continue.
    pending integer NOT NULL,               -- How many steps it still waits for.
    size integer NOT NULL,                  -- How many jobs it has.
    many boolean NOT NULL DEFAULT false,    -- Whether it was given as many jobs: its results are a list, even of one.
    open integer NOT NULL,                  -- How many of its jobs have not ended.
    failed integer NOT NULL DEFAULT 0,      -- How many of them did not complete.
    begun boolean NOT NULL DEFAULT false,
    specs text NOT NULL,                    -- What its jobs share: [spec, …].
    PRIMARY KEY (workflow, step)
);

-- Which step comes after which.
CREATE TABLE penstock.need (
    workflow uuid NOT NULL, needed integer NOT NULL, step integer NOT NULL,
    PRIMARY KEY (workflow, needed, step)
);

-- The jobs of steps. Until theirs begins they are only planned here.
CREATE TABLE penstock.member (
    id uuid PRIMARY KEY,                    -- That of the job.
    workflow uuid NOT NULL,
    step integer NOT NULL,
    place integer NOT NULL,                 -- In the order in which the step was given its jobs, from 0.
    spec integer NOT NULL,                  -- Which of the step's specs.
    payload text NOT NULL,
    gates text,
    released boolean NOT NULL DEFAULT false, -- Whether the job was enqueued.
    state smallint,                         -- That of its outcome, once the workflow has counted it.
    result text                             -- Kept here too, whatever becomes of the job.
);
CREATE UNIQUE INDEX member_place ON penstock.member (workflow, step, place);
CREATE INDEX member_open ON penstock.member (workflow, id) WHERE released AND state IS NULL;


-- Figures

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
    span bigint NOT NULL, at bigint NOT NULL, org text NOT NULL,
    completed bigint NOT NULL DEFAULT 0, failed bigint NOT NULL DEFAULT 0, ran double precision NOT NULL DEFAULT 0,
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
    completed bigint, cancelled bigint, dead bigint, expired bigint -- NULL: not counted yet.
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


-- Alerts

-- What is wrong, or was, and who was told of it.
CREATE TABLE penstock.alert (
    rule text NOT NULL, scope text NOT NULL, -- What is wrong, and with what.
    state text NOT NULL,                -- pending, firing or resolved.
    severity text NOT NULL,             -- info, warning, high or critical.
    key text NOT NULL,                  -- Of this occurrence, for those who are told of it.
    since bigint NOT NULL,              -- When it was seen first.
    fired_at bigint,
    quiet_at bigint,                    -- Since when its cause is gone: it still fires for a while.
    resolved_at bigint,
    value double precision, title text NOT NULL, message text NOT NULL,
    tags text NOT NULL,                 -- {name: value}
    told text NOT NULL,                 -- {sink: {sent, arrived, …}}
    sent text NOT NULL,                 -- [moment, …] of the last hour, when people were told.
    revision bigint NOT NULL,           -- Grows with every change: of two who change it at once, one does.
    PRIMARY KEY (rule, scope)
);

-- What people do not want to be told of for a while.
CREATE TABLE penstock.silence (
    rule text NOT NULL, scope text NOT NULL, -- '' is every scope.
    since bigint NOT NULL, until bigint NOT NULL, -- Moments.
    actor text NOT NULL, reason text,
    PRIMARY KEY (rule, scope)
);



-- What people did: retries, purges, cancellations, pauses, orders to workers.
CREATE TABLE penstock.audit (
    entry bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    at bigint NOT NULL,
    actor text NOT NULL,
    action text NOT NULL,
    detail text NOT NULL                    -- {…}
);
