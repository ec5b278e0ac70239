-- The tenants of a queue take turns: a claim finds the first jobs of each. Only jobs of tenants are in the index.
ALTER TABLE penstock_ready ADD COLUMN tenant TEXT;
UPDATE penstock_ready
SET tenant = (SELECT job.tenant ->> 'org' FROM penstock_job AS job WHERE job.seq = penstock_ready.seq);
CREATE INDEX penstock_ready_tenant ON penstock_ready (lane, priority, tenant, due_at, seq) WHERE tenant IS NOT NULL;

-- Before a gate they take turns too: `last_tenant` is who was let through last. Jobs without a tenant are one of them.
ALTER TABLE penstock_gate ADD COLUMN last_tenant TEXT NOT NULL DEFAULT '';
ALTER TABLE penstock_parked RENAME TO penstock_parked_before;
CREATE TABLE penstock_parked (
    gate INTEGER NOT NULL,
    lane INTEGER NOT NULL,
    priority INTEGER NOT NULL,
    tenant TEXT NOT NULL,
    due_at INTEGER NOT NULL,
    seq INTEGER NOT NULL UNIQUE,
    PRIMARY KEY (gate, lane, priority DESC, tenant, due_at, seq)
) STRICT, WITHOUT ROWID;
INSERT INTO penstock_parked (gate, lane, priority, tenant, due_at, seq)
SELECT parked.gate, parked.lane, parked.priority, coalesce(job.tenant ->> 'org', ''), parked.due_at, parked.seq
FROM penstock_parked_before AS parked JOIN penstock_job AS job ON job.seq = parked.seq;
DROP TABLE penstock_parked_before;
