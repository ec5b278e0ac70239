-- The first :jobs of each of these tenants.
WITH first (seq, attempt, tenant, nth) AS (
    SELECT job.seq, job.attempt, tenant.key, row_number() OVER (PARTITION BY tenant.key ORDER BY job.due_at, job.seq)
    FROM json_each(:tenants) AS tenant
    CROSS JOIN json_each(:lanes) AS lane
    CROSS JOIN penstock_job AS job ON job.seq IN (
        SELECT ready.seq FROM penstock_ready AS ready INDEXED BY penstock_ready_org
        WHERE ready.lane = lane.value AND ready.priority = :priority AND ready.org = tenant.value
            AND (ready.avoid IS NULL OR ready.avoid <> :session OR ready.due_at <= :fair)
        ORDER BY ready.due_at, ready.seq
        LIMIT :jobs
    )
)
INSERT INTO penstock_lease (seq, attempt, session, claimed_at)
SELECT seq, min(attempt + 1, 2147483647), :session, :now FROM first WHERE nth <= :jobs ORDER BY tenant, nth
