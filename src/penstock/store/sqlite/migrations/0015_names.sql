-- What both engines have is called the same in both.
ALTER TABLE penstock_unique RENAME TO penstock_unique_key;
ALTER TABLE penstock_type RENAME TO penstock_job_type;
ALTER TABLE penstock_limit RENAME TO penstock_gate_limit;
ALTER TABLE penstock_gate RENAME COLUMN last_tenant TO last_org;
ALTER TABLE penstock_parked RENAME COLUMN tenant TO org;
ALTER TABLE penstock_ready RENAME COLUMN tenant TO org;
DROP INDEX penstock_ready_tenant;
CREATE INDEX penstock_ready_org ON penstock_ready (lane, priority, org, due_at, seq) WHERE org IS NOT NULL;

-- A tenant is two columns, as it is asked for. One that cannot be read is nobody's, and not everybody's.
ALTER TABLE penstock_job ADD COLUMN org TEXT;
ALTER TABLE penstock_job ADD COLUMN workspace TEXT;
UPDATE penstock_job
SET org = iif(json_valid(tenant), tenant ->> 'org', tenant), workspace = iif(json_valid(tenant), tenant ->> 'workspace', NULL)
WHERE tenant IS NOT NULL;
ALTER TABLE penstock_job DROP COLUMN tenant;
