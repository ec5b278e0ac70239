-- Where a job is says what state it is in: a body in job, and one pointer to it in waiting (pending or scheduled),
-- lease (claimed or running), or outcome (ended). Moments are microseconds since the epoch by the server's clock.

CREATE TABLE penstock.meta (
    key text PRIMARY KEY,
    value bigint NOT NULL
);

-- The moment that decides: the one that is given (by a test that moves its own clock), else the server's.
CREATE FUNCTION penstock.moment(given bigint) RETURNS bigint
LANGUAGE sql STABLE
AS $$ SELECT coalesce(given, (extract(epoch FROM statement_timestamp()) * 1000000)::bigint) $$;

-- Everything that a claim filters on, and the priority, interned: claims compare small integers. Rows are only added.
CREATE TABLE penstock.lane (
    lane integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    type text NOT NULL,
    queue text NOT NULL,
    capability text NOT NULL,
    resources text NOT NULL,
    priority integer NOT NULL,
    UNIQUE (type, queue, capability, resources, priority)
);

-- Written once at enqueue; touched again only when an attempt does not end the job.
CREATE TABLE penstock.job (
    id uuid PRIMARY KEY,
    lane integer NOT NULL,
    due_at bigint NOT NULL,
    created_at bigint NOT NULL,
    attempt integer NOT NULL DEFAULT 0,
    crashes integer NOT NULL DEFAULT 0,
    payload text NOT NULL,
    policy text,
    org text,
    workspace text,
    tags text[],
    parent uuid,
    retried_from uuid,
    unique_key text,
    error text
);

-- One row per job that waits: due now or later. xid is the transaction that put it here, so that a claim finds what
-- became visible since its last look, however late it was committed (docs/decisions/0011-postgres-storage.md).
CREATE TABLE penstock.waiting (
    lane integer NOT NULL,
    due_at bigint NOT NULL,
    id uuid NOT NULL,
    expires_at bigint,
    xid xid8 NOT NULL DEFAULT pg_current_xact_id(),
    PRIMARY KEY (lane, due_at, id)
);
CREATE INDEX waiting_xid ON penstock.waiting (xid);
CREATE INDEX waiting_expires ON penstock.waiting (expires_at) WHERE expires_at IS NOT NULL;

-- The token is the fence: it only ever grows, and every write of an attempt must match it.
CREATE SEQUENCE penstock.token;
CREATE TABLE penstock.lease (
    token bigint PRIMARY KEY,
    id uuid NOT NULL UNIQUE,
    attempt integer NOT NULL,
    session bigint NOT NULL,
    claimed_at bigint NOT NULL,
    started_at bigint,
    progress text,
    cancel boolean NOT NULL DEFAULT false
);
CREATE INDEX lease_cancel ON penstock.lease (token) WHERE cancel;

CREATE TABLE penstock.outcome (
    id uuid PRIMARY KEY,
    state smallint NOT NULL,
    attempt integer NOT NULL,
    session bigint,
    claimed_at bigint,
    started_at bigint,
    finished_at bigint NOT NULL,
    result text,
    progress text,
    reason text,
    decided_by text,
    retried_as uuid,
    keep integer
);
CREATE INDEX outcome_finished ON penstock.outcome (state, finished_at);
CREATE INDEX outcome_keep ON penstock.outcome (keep) WHERE keep IS NOT NULL;

CREATE TABLE penstock.history (
    step bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    id uuid NOT NULL,
    at bigint NOT NULL,
    event text NOT NULL,
    attempt integer NOT NULL,
    session bigint,
    reason text,
    error text
);
CREATE INDEX history_job ON penstock.history (id);

CREATE TABLE penstock.unique_key (
    key text PRIMARY KEY,
    id uuid NOT NULL,
    expires_at bigint
);

CREATE TABLE penstock.worker (
    session bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    id text NOT NULL,
    host text NOT NULL,
    pid integer NOT NULL,
    version text NOT NULL,
    status text NOT NULL,
    slots integer NOT NULL,
    types text NOT NULL,
    queues text,
    capabilities text NOT NULL,
    resources text,
    started_at bigint NOT NULL,
    heartbeat_at bigint NOT NULL,
    stale_after bigint NOT NULL
);
CREATE INDEX worker_id ON penstock.worker (id);
-- Two workers that start at once under one id: the second is refused.
CREATE UNIQUE INDEX worker_alive ON penstock.worker (id) WHERE status IN ('active', 'draining');

CREATE TABLE penstock.job_type (
    name text PRIMARY KEY,
    options text NOT NULL,
    declared_at bigint NOT NULL
);

CREATE TABLE penstock.audit (
    entry bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    at bigint NOT NULL,
    actor text NOT NULL,
    action text NOT NULL,
    detail text NOT NULL
);

-- Rows of these come and go all the time. Their dead ones are cleaned up early, before they are many.
ALTER TABLE penstock.waiting SET (autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_threshold = 1000);
ALTER TABLE penstock.lease SET (autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_threshold = 1000);
