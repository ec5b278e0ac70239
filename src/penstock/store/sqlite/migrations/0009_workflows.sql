-- Workflows. `open` is how many steps have not ended; `stop` is 0 while later steps may begin, else the state in which the
-- workflow will end. States: 0 running, 1 completed, 2 failed, 3 cancelled.
CREATE TABLE penstock_workflow (
    id TEXT PRIMARY KEY,
    name TEXT NOT NULL,
    parent TEXT,
    state INTEGER NOT NULL DEFAULT 0,
    stop INTEGER NOT NULL DEFAULT 0,
    open INTEGER NOT NULL,
    compensate TEXT,
    created_at INTEGER NOT NULL,
    ended_at INTEGER
) STRICT, WITHOUT ROWID;
CREATE INDEX penstock_workflow_ended ON penstock_workflow (state, ended_at) WHERE ended_at IS NOT NULL;

-- `pending` is how many steps it still waits for, `open` how many of its jobs have not ended, `specs` what its jobs share.
CREATE TABLE penstock_step (
    workflow TEXT NOT NULL,
    step INTEGER NOT NULL,
    name TEXT NOT NULL,
    on_failure TEXT NOT NULL,
    pending INTEGER NOT NULL,
    size INTEGER NOT NULL,
    open INTEGER NOT NULL,
    failed INTEGER NOT NULL DEFAULT 0,
    begun INTEGER NOT NULL DEFAULT 0,
    specs TEXT NOT NULL,
    PRIMARY KEY (workflow, step)
) STRICT, WITHOUT ROWID;

CREATE TABLE penstock_need (
    workflow TEXT NOT NULL,
    needed INTEGER NOT NULL,
    step INTEGER NOT NULL,
    PRIMARY KEY (workflow, needed, step)
) STRICT, WITHOUT ROWID;

-- The jobs of steps. Until theirs begins they are only planned here; `released` says that the job was enqueued. `state`
-- is that of its end, once the workflow has counted it. The result is kept here too, whatever becomes of the job.
CREATE TABLE penstock_member (
    id TEXT NOT NULL UNIQUE,
    workflow TEXT NOT NULL,
    step INTEGER NOT NULL,
    place INTEGER NOT NULL,
    spec INTEGER NOT NULL,
    payload TEXT NOT NULL,
    gates TEXT,
    released INTEGER NOT NULL DEFAULT 0,
    state INTEGER,
    result TEXT
) STRICT;
CREATE UNIQUE INDEX penstock_member_place ON penstock_member (workflow, step, place);
CREATE INDEX penstock_member_open ON penstock_member (workflow, id) WHERE released = 1 AND state IS NULL;

-- Who was made by a job, or belongs to a workflow.
CREATE INDEX penstock_job_parent ON penstock_job (parent) WHERE parent IS NOT NULL;
