-- Where a job is says what state it is in: a body in penstock_job, and at most one pointer to it in
-- ready (pending), scheduled, lease (claimed or running), or an outcome (ended).
-- Moments are microseconds since the epoch.

CREATE TABLE penstock_meta (
    key TEXT PRIMARY KEY,
    value INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- Everything that a claim filters on, interned: claims compare small integers.
CREATE TABLE penstock_lane (
    lane INTEGER PRIMARY KEY,
    type TEXT NOT NULL,
    queue TEXT NOT NULL,
    capability TEXT NOT NULL,
    resources TEXT NOT NULL,
    UNIQUE (type, queue, capability, resources)
) STRICT;

-- Written once at enqueue; touched again only when an attempt does not end the job.
CREATE TABLE penstock_job (
    seq INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    lane INTEGER NOT NULL,
    priority INTEGER NOT NULL,
    due_at INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    attempt INTEGER NOT NULL DEFAULT 0,
    crashes INTEGER NOT NULL DEFAULT 0,
    payload TEXT NOT NULL,
    policy TEXT,
    tenant TEXT,
    tags TEXT,
    parent TEXT,
    retried_from TEXT,
    unique_key TEXT,
    error TEXT
) STRICT;

CREATE TABLE penstock_ready (
    lane INTEGER NOT NULL,
    priority INTEGER NOT NULL,
    due_at INTEGER NOT NULL,
    seq INTEGER NOT NULL,
    PRIMARY KEY (lane, priority DESC, due_at, seq)
) STRICT, WITHOUT ROWID;

CREATE TABLE penstock_scheduled (
    due_at INTEGER NOT NULL,
    seq INTEGER NOT NULL,
    PRIMARY KEY (due_at, seq)
) STRICT, WITHOUT ROWID;

-- Only jobs with a time-to-live have a row here, until that is past. By id, since the seq of a removed job may be
-- given again; due_at is where the enqueue put the job, and any claim and return moves it from there.
CREATE TABLE penstock_ttl (
    expires_at INTEGER NOT NULL,
    id TEXT NOT NULL,
    due_at INTEGER NOT NULL,
    PRIMARY KEY (expires_at, id)
) STRICT, WITHOUT ROWID;

-- The token is the fence: it only ever grows, and every write of an attempt must match it.
CREATE TABLE penstock_lease (
    token INTEGER PRIMARY KEY AUTOINCREMENT,
    seq INTEGER NOT NULL UNIQUE,
    attempt INTEGER NOT NULL,
    session INTEGER NOT NULL,
    claimed_at INTEGER NOT NULL,
    started_at INTEGER,
    progress TEXT,
    cancel INTEGER NOT NULL DEFAULT 0
) STRICT;

CREATE TABLE penstock_outcome (
    seq INTEGER PRIMARY KEY,
    state INTEGER NOT NULL,
    attempt INTEGER NOT NULL,
    session INTEGER,
    claimed_at INTEGER,
    started_at INTEGER,
    finished_at INTEGER NOT NULL,
    result TEXT,
    progress TEXT,
    reason TEXT,
    decided_by TEXT,
    retried_as TEXT,
    keep INTEGER
) STRICT;
CREATE INDEX penstock_outcome_finished ON penstock_outcome (state, finished_at);
CREATE INDEX penstock_outcome_keep ON penstock_outcome (keep) WHERE keep IS NOT NULL;

CREATE TABLE penstock_history (
    step INTEGER PRIMARY KEY,
    seq INTEGER NOT NULL,
    at INTEGER NOT NULL,
    event TEXT NOT NULL,
    attempt INTEGER NOT NULL,
    session INTEGER,
    reason TEXT,
    error TEXT
) STRICT;
CREATE INDEX penstock_history_job ON penstock_history (seq);

CREATE TABLE penstock_unique (
    key TEXT PRIMARY KEY,
    id TEXT NOT NULL,
    expires_at INTEGER
) STRICT, WITHOUT ROWID;

CREATE TABLE penstock_worker (
    session INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL,
    host TEXT NOT NULL,
    pid INTEGER NOT NULL,
    version TEXT NOT NULL,
    status TEXT NOT NULL,
    slots INTEGER NOT NULL,
    queues TEXT,
    capabilities TEXT NOT NULL,
    resources TEXT,
    types TEXT NOT NULL,
    bell INTEGER,
    started_at INTEGER NOT NULL,
    heartbeat_at INTEGER NOT NULL
) STRICT;
CREATE INDEX penstock_worker_id ON penstock_worker (id);

CREATE TABLE penstock_type (
    name TEXT PRIMARY KEY,
    options TEXT NOT NULL,
    declared_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE penstock_audit (
    entry INTEGER PRIMARY KEY,
    at INTEGER NOT NULL,
    actor TEXT NOT NULL,
    action TEXT NOT NULL,
    detail TEXT NOT NULL
) STRICT;

INSERT INTO penstock_meta VALUES ('schema_version', 1);
