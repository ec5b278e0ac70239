-- Like count_jobs, for the jobs of some tenants or tags: every job is looked at. {where} and what is overdue are filled
-- in by pages.py from fixed texts. Of what workflows have planned come all, by their specs.
SELECT
    lane.type, lane.queue,
    CASE
        WHEN outcome.state IS NOT NULL THEN outcome.state
        WHEN lease.token IS NOT NULL THEN iif(lease.started_at IS NULL, {CLAIMED}, {RUNNING})
        WHEN job.seq IN ({overdue}) THEN {EXPIRED}
        WHEN parked.gate IS NOT NULL THEN {BLOCKED}
        ELSE iif(job.due_at > :now, {SCHEDULED}, {PENDING})
    END AS state,
    count(*),
    job.org,
    lane.capability
FROM penstock_job AS job
JOIN penstock_lane AS lane ON lane.lane = job.lane
LEFT JOIN penstock_lease AS lease ON lease.seq = job.seq
LEFT JOIN penstock_outcome AS outcome ON outcome.seq = job.seq
LEFT JOIN penstock_parked AS parked ON parked.seq = job.seq
WHERE {where}
GROUP BY lane.type, lane.queue, 3, 5, lane.capability
UNION ALL
SELECT step.specs -> planned.spec, NULL, 'planned', planned.jobs, NULL, NULL
FROM (
    SELECT member.workflow, member.step, member.spec, count(*) AS jobs
    FROM penstock_workflow AS workflow
    JOIN penstock_member AS member ON member.workflow = workflow.id AND member.released = 0
    WHERE workflow.state = 0 AND workflow.stop = 0
    GROUP BY 1, 2, 3
) AS planned
JOIN penstock_step AS step ON step.workflow = planned.workflow AND step.step = planned.step
ORDER BY 1, 2, 5, 3, 6
