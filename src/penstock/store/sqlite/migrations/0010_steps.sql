-- oldest: 9
-- Whether a step was given as many jobs, of which there may be one: then its results are a list too.
ALTER TABLE penstock_step ADD COLUMN many INTEGER NOT NULL DEFAULT 0;
-- What is planned and may still begin is found by the workflows that run.
CREATE INDEX penstock_workflow_running ON penstock_workflow (id) WHERE state = 0;
