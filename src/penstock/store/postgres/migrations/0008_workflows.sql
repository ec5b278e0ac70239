-- Workflows. `open` is how many steps have not ended; `stop` is 0 while later steps may begin, else the state in which the
-- workflow will end. States: 0 running, 1 completed, 2 failed, 3 cancelled. Whoever changes anything of a workflow locks
-- its row here first.
CREATE TABLE penstock.workflow (
    id uuid PRIMARY KEY,
    name text NOT NULL,
    parent uuid,
    state smallint NOT NULL DEFAULT 0,
    stop smallint NOT NULL DEFAULT 0,
    open integer NOT NULL,
    compensate text,
    created_at bigint NOT NULL,
    ended_at bigint
);
CREATE INDEX workflow_ended ON penstock.workflow (state, ended_at) WHERE ended_at IS NOT NULL;

-- `pending` is how many steps it still waits for, `open` how many of its jobs have not ended, `specs` what its jobs share.
CREATE TABLE penstock.step (
    workflow uuid NOT NULL,
    step integer NOT NULL,
    name text NOT NULL,
    on_failure text NOT NULL,
    pending integer NOT NULL,
    size integer NOT NULL,
    open integer NOT NULL,
    failed integer NOT NULL DEFAULT 0,
    begun boolean NOT NULL DEFAULT false,
    specs text NOT NULL,
    PRIMARY KEY (workflow, step)
);

CREATE TABLE penstock.need (
    workflow uuid NOT NULL,
    needed integer NOT NULL,
    step integer NOT NULL,
    PRIMARY KEY (workflow, needed, step)
);

-- The jobs of steps. Until theirs begins they are only planned here; `released` says that the job was enqueued. `state`
-- is that of its end, once the workflow has counted it. The result is kept here too, whatever becomes of the job.
CREATE TABLE penstock.member (
    id uuid PRIMARY KEY,
    workflow uuid NOT NULL,
    step integer NOT NULL,
    place integer NOT NULL,
    spec integer NOT NULL,
    payload text NOT NULL,
    gates text,
    released boolean NOT NULL DEFAULT false,
    state smallint,
    result text
);
CREATE UNIQUE INDEX member_place ON penstock.member (workflow, step, place);
CREATE INDEX member_open ON penstock.member (workflow, id) WHERE released AND state IS NULL;

-- Who was made by a job, or belongs to a workflow.
CREATE INDEX job_parent ON penstock.job (parent) WHERE parent IS NOT NULL;
