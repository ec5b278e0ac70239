-- The tenants of a queue take turns: a claim finds the first jobs of each. Only jobs of tenants are in the index.
ALTER TABLE penstock_ready ADD COLUMN tenant TEXT;
UPDATE penstock_ready
SET tenant = (SELECT job.tenant ->> 'org' FROM penstock_job AS job WHERE job.seq = penstock_ready.seq);
CREATE INDEX penstock_ready_tenant ON penstock_ready (lane, priority, tenant, due_at, seq) WHERE tenant IS NOT NULL;
