-- The tables as they are, to be read from top to bottom. A store is made and brought up by the files in migrations/; a
-- test holds that they come to what is written here.
--
-- A job is a body in penstock_job. Where it is says what state it is in: at most one of the tables that follow it points
-- to it, by its seq. Unless another unit is named, moments (…_at) are microseconds since 1970 by the clock of whoever
-- wrote them, spans of time are microseconds too, a "session" is the number of a worker's row, a "token" that of a lease,
-- and texts in {braces} or [brackets] are JSON.

-- What this file is. The keys are `schema_version`, the last migration that was applied, and `oldest`, the oldest version
-- whose programs may still use it.
CREATE TABLE penstock_meta (
    key TEXT PRIMARY KEY,
    value INTEGER NOT NULL
) STRICT, WITHOUT ROWID;


-- The job

-- Everything that a claim filters on, as a number: each combination that was ever enqueued. Rows are only added.
CREATE TABLE penstock_lane (
    lane INTEGER PRIMARY KEY,
    type TEXT NOT NULL, queue TEXT NOT NULL, capability TEXT NOT NULL,
    resources TEXT NOT NULL,            -- What a job needs, as {cpu, memory, gpu}; '' is nothing.
    stamp INTEGER,                      -- Random: tells a lane from another that had its number before a restore.
    UNIQUE (type, queue, capability, resources)
) STRICT;
-- For lanes that programs add which know only older versions.
CREATE TRIGGER penstock_lane_stamp AFTER INSERT ON penstock_lane WHEN new.stamp IS NULL BEGIN
    UPDATE penstock_lane SET stamp = random() WHERE lane = new.lane;
END;

-- The body. Written once at enqueue; touched again only when an attempt does not end the job.
CREATE TABLE penstock_job (
    seq INTEGER PRIMARY KEY,            -- Its number in this file. That of a removed job may be given again.
    id TEXT NOT NULL UNIQUE,            -- Its id, a UUID that begins with the moment of the enqueue.
    lane INTEGER NOT NULL,
    priority INTEGER NOT NULL,          -- -100 to 100, higher first.
    due_at INTEGER NOT NULL,            -- When it may begin: of the enqueue, then of each retry.
    created_at INTEGER NOT NULL,
    attempt INTEGER NOT NULL DEFAULT 0, -- How many are spent.
    crashes INTEGER NOT NULL DEFAULT 0, -- How many of them took their worker or its process along.
    snoozes INTEGER,                    -- How often a handler put it back without spending an attempt. NULL: never.
    payload TEXT NOT NULL,              -- {field: value, …}
    policy TEXT,                        -- How it is run and kept, {a, b, t, l, rc, rf, s}; NULL is all by default.
    org TEXT,                           -- Its tenant, and a part of that.
    workspace TEXT,
    tags TEXT,                          -- [tag, …]
    parent TEXT,                        -- The id of the job or workflow that made it.
    retried_from TEXT,                  -- The id of the dead letter that it tries again.
    unique_key TEXT,                    -- What no other job may hold meanwhile: penstock_unique_key.
    gates TEXT,                         -- Its limits: [[name, most, period, origin, ordered, declarer], …].
    traceparent TEXT,                   -- The span of a trace that enqueued it, as W3C writes it.
    error TEXT,                         -- Its last failure: {type, message, code, stack, …}.
    fingerprint TEXT,                   -- What that has in common with others of the same cause.
    avoid INTEGER                       -- The session whose attempt failed: for a while, others are preferred.
) STRICT;
-- Who was made by a job, or belongs to a workflow.
CREATE INDEX penstock_job_parent ON penstock_job (parent) WHERE parent IS NOT NULL;
-- Which jobs name a limit. A job's own come first, at most one at once and one rate.
CREATE INDEX penstock_job_gate ON penstock_job (gates ->> '$[0][0]') WHERE gates IS NOT NULL;
CREATE INDEX penstock_job_other_gate ON penstock_job (gates ->> '$[1][0]')
WHERE gates IS NOT NULL AND gates ->> '$[1][0]' IS NOT NULL;


-- Where it is

-- Pending: the next jobs of a lane are the first entries of its range. due_at and priority are those of the job.
CREATE TABLE penstock_ready (
    lane INTEGER NOT NULL, priority INTEGER NOT NULL, due_at INTEGER NOT NULL, seq INTEGER NOT NULL,
    avoid INTEGER,                      -- As in the job.
    org TEXT,                           -- As in the job: the tenants of a queue take turns.
    PRIMARY KEY (lane, priority DESC, due_at, seq)
) STRICT, WITHOUT ROWID;
CREATE INDEX penstock_ready_org ON penstock_ready (lane, priority, org, due_at, seq) WHERE org IS NOT NULL;

-- Scheduled: not due yet.
CREATE TABLE penstock_scheduled (
    due_at INTEGER NOT NULL, seq INTEGER NOT NULL,
    PRIMARY KEY (due_at, seq)
) STRICT, WITHOUT ROWID;

-- Blocked: due, and before a limit that was full, away from those that a claim looks at.
CREATE TABLE penstock_parked (
    gate INTEGER NOT NULL,
    lane INTEGER NOT NULL,
    priority INTEGER NOT NULL,
    org TEXT NOT NULL,                  -- '' is nobody's: they are one of those who take turns.
    due_at INTEGER NOT NULL,
    seq INTEGER NOT NULL UNIQUE,
    PRIMARY KEY (gate, lane, priority DESC, org, due_at, seq)
) STRICT, WITHOUT ROWID;

-- Claimed or running. The token is the fence: it only ever grows, and every write of an attempt must match it.
CREATE TABLE penstock_lease (
    token INTEGER PRIMARY KEY AUTOINCREMENT,
    seq INTEGER NOT NULL UNIQUE,
    attempt INTEGER NOT NULL,           -- The one that this is, from 1.
    session INTEGER NOT NULL,           -- The worker that has it.
    claimed_at INTEGER NOT NULL,
    started_at INTEGER,                 -- When its handler began, by the worker's clock. NULL: not yet.
    progress TEXT,                      -- The last that it told, {phase, percent, …}.
    cancel INTEGER NOT NULL DEFAULT 0   -- 1 when a person asked to stop it.
) STRICT;

-- Ended, until retention removes it with its body.
CREATE TABLE penstock_outcome (
    seq INTEGER PRIMARY KEY,
    state INTEGER NOT NULL,             -- 1 completed, 2 dead, 3 cancelled, 4 expired.
    attempt INTEGER NOT NULL,
    session INTEGER, claimed_at INTEGER, started_at INTEGER,
    finished_at INTEGER NOT NULL,
    result TEXT,                        -- What its handler returned, as JSON.
    progress TEXT,
    reason TEXT,                        -- Why it ended so, for people. Its error is in the job.
    decided_by TEXT,                    -- worker, recovery, start-timeout, ttl, routing, store or operator.
    retried_as TEXT,                    -- The id of the job that tries it again.
    keep INTEGER                        -- How many such of its type are kept. NULL: as long as retention says.
) STRICT;
CREATE INDEX penstock_outcome_finished ON penstock_outcome (state, finished_at);
CREATE INDEX penstock_outcome_keep ON penstock_outcome (keep) WHERE keep IS NOT NULL;


-- What else is known of it

-- When jobs with a time-to-live expire, until that is past. By id, since a seq may be given again.
CREATE TABLE penstock_ttl (
    expires_at INTEGER NOT NULL,
    id TEXT NOT NULL,
    due_at INTEGER NOT NULL,            -- Where the enqueue put the job: a claim and a return move it from there.
    PRIMARY KEY (expires_at, id)
) STRICT, WITHOUT ROWID;

-- Single steps: retries, recoveries, what people did; with history = all each claim, start and end.
CREATE TABLE penstock_history (
    step INTEGER PRIMARY KEY,
    seq INTEGER NOT NULL,
    at INTEGER NOT NULL,
    event TEXT NOT NULL,                -- What happened, in a word.
    attempt INTEGER NOT NULL,
    session INTEGER,
    reason TEXT,
    error TEXT,                         -- Of a failed attempt, as in the job.
    fingerprint TEXT                    -- Of that error.
) STRICT;
CREATE INDEX penstock_history_job ON penstock_history (seq);

-- Effects that a job runs at most once over all its attempts.
CREATE TABLE penstock_once (
    seq INTEGER NOT NULL,
    key TEXT NOT NULL,
    token INTEGER NOT NULL,             -- The attempt that began it.
    done INTEGER NOT NULL DEFAULT 0,
    value TEXT,                         -- What it answered, as JSON, once it is done.
    PRIMARY KEY (seq, key)
) STRICT, WITHOUT ROWID;

-- Keys of which one job at a time may be there.
CREATE TABLE penstock_unique_key (
    key TEXT PRIMARY KEY,
    id TEXT NOT NULL,                   -- The job that holds it.
    expires_at INTEGER                  -- NULL: until the job has ended.
) STRICT, WITHOUT ROWID;


-- Limits

-- A gate lets at most so many jobs through: at once, or in any span of its period. Made when a job needs it, forgotten
-- when none does.
CREATE TABLE penstock_gate (
    gate INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,          -- Its kind and its filled key, such as key:store:7 or rate:stripe.
    most INTEGER NOT NULL,
    period INTEGER,                     -- NULL: at once.
    origin TEXT NOT NULL,               -- Its kind and its key as it was declared, such as key:store:{store_id}.
    declarer TEXT,                      -- The type that stands for its number; '' is one enqueue, NULL is not known.
    ordered INTEGER NOT NULL DEFAULT 0, -- 1: one after the other, each when the one before has ended for good.
    made INTEGER NOT NULL DEFAULT 0,    -- How many permits of it are kept.
    wake_at INTEGER,                    -- When to look whether the next of those parked before it may pass.
    last_org TEXT NOT NULL DEFAULT ''   -- The tenant that was let through last.
) STRICT;
CREATE INDEX penstock_gate_wake ON penstock_gate (wake_at) WHERE wake_at IS NOT NULL;

-- What the config says of a key wins over the code.
CREATE TABLE penstock_gate_limit (
    origin TEXT PRIMARY KEY,
    most INTEGER NOT NULL, period INTEGER
) STRICT, WITHOUT ROWID;

-- Who has passed a gate. Only those whose lease still exists count, so none can be held by nobody.
CREATE TABLE penstock_hold (
    gate INTEGER NOT NULL, token INTEGER NOT NULL, at INTEGER NOT NULL,
    PRIMARY KEY (gate, token)
) STRICT, WITHOUT ROWID;
CREATE INDEX penstock_hold_token ON penstock_hold (token);

-- The starts of a gate with a period, as long as they count.
CREATE TABLE penstock_permit (
    gate INTEGER NOT NULL, at INTEGER NOT NULL, token INTEGER NOT NULL,
    PRIMARY KEY (gate, at, token)
) STRICT, WITHOUT ROWID;

-- The places in line before ordered gates. By name and id, since gates are forgotten and made again, and a seq may be
-- given again. A ticket of a job that has ended means nothing; it is removed when somebody looks who is first.
CREATE TABLE penstock_ticket (
    name TEXT NOT NULL,                 -- That of the gate.
    due_at INTEGER NOT NULL,            -- Of the enqueue: retries do not change it.
    seq INTEGER NOT NULL,
    id TEXT NOT NULL UNIQUE,
    PRIMARY KEY (name, due_at, seq)
) STRICT, WITHOUT ROWID;


-- Workers

CREATE TABLE penstock_worker (
    session INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL,                   -- Its name, of which one at a time is alive.
    host TEXT NOT NULL,
    pid INTEGER NOT NULL,
    process TEXT,                       -- Which process of that pid, for others on its machine.
    version TEXT NOT NULL,              -- Of penstock.
    status TEXT NOT NULL,               -- active, draining, inactive or lost.
    slots INTEGER NOT NULL, slots_of TEXT, -- How many jobs at once; of types with another number {type: number}.
    queues TEXT,                        -- [queue, …]; NULL is all.
    capabilities TEXT NOT NULL,         -- [capability, …]
    resources TEXT,                     -- What it has, {cpu, memory, gpu}; NULL is no bound.
    types TEXT NOT NULL,                -- [type, …] that it runs; null is all.
    bell INTEGER,                       -- The port on this machine where it is woken.
    health TEXT,                        -- The address where it answers probes.
    failing INTEGER NOT NULL DEFAULT 0, -- 1 when it does not answer them: it is given nothing.
    unreached INTEGER NOT NULL DEFAULT 0, -- 1 when the leader has never had an answer: it is not judged by that.
    marked INTEGER NOT NULL DEFAULT 0,  -- After how many more heartbeats these two are over, unless renewed.
    started_at INTEGER NOT NULL,
    heartbeat_at INTEGER NOT NULL,
    stale_after INTEGER NOT NULL DEFAULT 30000000 -- For how long it may be silent before it counts as lost.
) STRICT;
CREATE INDEX penstock_worker_id ON penstock_worker (id);

-- Which version of the app each runs, or ran: kept for the attempts that name the session when the worker is removed.
CREATE TABLE penstock_app_version (
    session INTEGER PRIMARY KEY,
    version TEXT NOT NULL, started_at INTEGER NOT NULL
) STRICT;

-- The job types that programs have declared, for enqueues by name and for retries.
CREATE TABLE penstock_job_type (
    name TEXT PRIMARY KEY,
    options TEXT NOT NULL,              -- {option: value, …}
    declared_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- One row: who does for all what is to be done once.
CREATE TABLE penstock_leader (
    id INTEGER PRIMARY KEY CHECK (id = 1),
    term INTEGER NOT NULL,              -- Grows with every new holder, and fences what the one before still does.
    session INTEGER NOT NULL,
    lease INTEGER NOT NULL,             -- For how long it was taken: a longer rest is one of a clock that was set back.
    until INTEGER NOT NULL              -- A moment.
) STRICT;

-- Queues and job types whose jobs are not given out.
CREATE TABLE penstock_pause (
    kind TEXT NOT NULL CHECK (kind IN ('queue', 'type')),
    name TEXT NOT NULL,
    since INTEGER NOT NULL,             -- A moment.
    actor TEXT NOT NULL,                -- Who did it.
    reason TEXT,
    PRIMARY KEY (kind, name)
) STRICT, WITHOUT ROWID;

-- One row: another random number with every pause, resume, drain and resize, so that claims know when to look again.
CREATE TABLE penstock_order_number (
    id INTEGER PRIMARY KEY CHECK (id = 1),
    number INTEGER NOT NULL
) STRICT;
INSERT INTO penstock_order_number VALUES (1, random() / 2);


-- Schedules

-- Jobs that are enqueued by the clock. What is due when is reckoned by whoever leads.
CREATE TABLE penstock_schedule (
    name TEXT PRIMARY KEY,
    plan TEXT NOT NULL,                 -- {timing, payload, spec, …}: all that a person or a program decides.
    status TEXT NOT NULL CHECK (status IN ('active', 'paused', 'removed')),
    next_at INTEGER,                    -- Its next tick. NULL: there is none any more.
    fires INTEGER NOT NULL,             -- How often it has fired.
    anchor INTEGER NOT NULL,            -- The moment from which intervals are counted.
    last_at INTEGER,                    -- Its last tick that fired, and the id of the job of it.
    last_job TEXT,
    declared TEXT,                      -- The plan that a program has declared last. NULL: a person has added it.
    created_at INTEGER NOT NULL,
    changed_at INTEGER NOT NULL,
    changed_by TEXT NOT NULL,
    revision INTEGER NOT NULL           -- Grows with every change: of two who change it at once, one begins again.
) STRICT, WITHOUT ROWID;
CREATE INDEX penstock_schedule_due ON penstock_schedule (next_at) WHERE status = 'active' AND next_at IS NOT NULL;


-- Workflows

-- States are 0 running, 1 completed, 2 failed, 3 cancelled.
CREATE TABLE penstock_workflow (
    id TEXT PRIMARY KEY,
    name TEXT NOT NULL,
    parent TEXT,                        -- The job that made it.
    state INTEGER NOT NULL DEFAULT 0,
    stop INTEGER NOT NULL DEFAULT 0,    -- 0 while later steps may begin, else the state in which it will end.
    open INTEGER NOT NULL,              -- How many steps have not ended.
    compensate TEXT,                    -- The job that is enqueued when it has failed, as {id, payload, spec, …}.
    created_at INTEGER NOT NULL,
    ended_at INTEGER
) STRICT, WITHOUT ROWID;
CREATE INDEX penstock_workflow_ended ON penstock_workflow (state, ended_at) WHERE ended_at IS NOT NULL;
-- What is planned and may still begin is found by the workflows that run.
CREATE INDEX penstock_workflow_running ON penstock_workflow (id) WHERE state = 0;

CREATE TABLE penstock_step (
    workflow TEXT NOT NULL,
    step INTEGER NOT NULL,              -- Its number in the workflow, from 0.
    name TEXT NOT NULL,
    on_failure TEXT NOT NULL,           -- stop or continue.
    pending INTEGER NOT NULL,           -- How many steps it still waits for.
    size INTEGER NOT NULL,              -- How many jobs it has.
    many INTEGER NOT NULL DEFAULT 0,    -- 1 when it was given as many jobs: its results are a list, even of one.
    open INTEGER NOT NULL,              -- How many of its jobs have not ended.
    failed INTEGER NOT NULL DEFAULT 0,  -- How many of them did not complete.
    begun INTEGER NOT NULL DEFAULT 0,
    specs TEXT NOT NULL,                -- What its jobs share: [spec, …].
    PRIMARY KEY (workflow, step)
) STRICT, WITHOUT ROWID;

-- Which step comes after which.
CREATE TABLE penstock_need (
    workflow TEXT NOT NULL, needed INTEGER NOT NULL, step INTEGER NOT NULL,
    PRIMARY KEY (workflow, needed, step)
) STRICT, WITHOUT ROWID;

-- The jobs of steps. Until theirs begins they are only planned here.
CREATE TABLE penstock_member (
    id TEXT NOT NULL UNIQUE,            -- That of the job.
    workflow TEXT NOT NULL,
    step INTEGER NOT NULL,
    place INTEGER NOT NULL,             -- In the order in which the step was given its jobs, from 0.
    spec INTEGER NOT NULL,              -- Which of the step's specs.
    payload TEXT NOT NULL,
    gates TEXT,
    released INTEGER NOT NULL DEFAULT 0, -- 1 when the job was enqueued.
    state INTEGER,                      -- That of its outcome, once the workflow has counted it.
    result TEXT                         -- Kept here too, whatever becomes of the job.
) STRICT;
CREATE UNIQUE INDEX penstock_member_place ON penstock_member (workflow, step, place);
CREATE INDEX penstock_member_open ON penstock_member (workflow, id) WHERE released = 1 AND state IS NULL;


-- Figures

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
    span INTEGER NOT NULL, at INTEGER NOT NULL, org TEXT NOT NULL,
    completed INTEGER NOT NULL DEFAULT 0, failed INTEGER NOT NULL DEFAULT 0, ran REAL NOT NULL DEFAULT 0,
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
    completed INTEGER, cancelled INTEGER, dead INTEGER, expired INTEGER -- NULL: not counted yet.
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


-- Alerts

-- What is wrong, or was, and who was told of it.
CREATE TABLE penstock_alert (
    rule TEXT NOT NULL, scope TEXT NOT NULL, -- What is wrong, and with what.
    state TEXT NOT NULL,                -- pending, firing or resolved.
    severity TEXT NOT NULL,             -- info, warning, high or critical.
    key TEXT NOT NULL,                  -- Of this occurrence, for those who are told of it.
    since INTEGER NOT NULL,             -- When it was seen first.
    fired_at INTEGER,
    quiet_at INTEGER,                   -- Since when its cause is gone: it still fires for a while.
    resolved_at INTEGER,
    value REAL, title TEXT NOT NULL, message TEXT NOT NULL,
    tags TEXT NOT NULL,                 -- {name: value}
    told TEXT NOT NULL,                 -- {sink: {sent, arrived, …}}
    sent TEXT NOT NULL,                 -- [moment, …] of the last hour, when people were told.
    revision INTEGER NOT NULL,          -- Grows with every change: of two who change it at once, one does.
    PRIMARY KEY (rule, scope)
) STRICT, WITHOUT ROWID;

-- What people do not want to be told of for a while.
CREATE TABLE penstock_silence (
    rule TEXT NOT NULL, scope TEXT NOT NULL, -- '' is every scope.
    since INTEGER NOT NULL, until INTEGER NOT NULL, -- Moments.
    actor TEXT NOT NULL, reason TEXT,
    PRIMARY KEY (rule, scope)
) STRICT, WITHOUT ROWID;



-- What people did: retries, purges, cancellations, pauses, orders to workers.
CREATE TABLE penstock_audit (
    entry INTEGER PRIMARY KEY,
    at INTEGER NOT NULL,
    actor TEXT NOT NULL,
    action TEXT NOT NULL,
    detail TEXT NOT NULL                -- {…}
) STRICT;
