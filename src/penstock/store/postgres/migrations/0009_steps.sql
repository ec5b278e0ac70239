-- oldest: 8
-- Whether a step was given as many jobs, of which there may be one: then its results are a list too.
ALTER TABLE penstock.step ADD COLUMN many boolean NOT NULL DEFAULT false;
-- What is planned and may still begin is found by the workflows that run.
CREATE INDEX workflow_running ON penstock.workflow (id) WHERE state = 0;
