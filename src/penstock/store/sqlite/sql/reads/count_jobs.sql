-- What workflows have planned comes by its specs, which say the type and the queue. What is overdue, by a text of
-- pages.py, has expired, wherever it is still counted.
SELECT coalesce(lane.type, ''), coalesce(lane.queue, ''), found.state, sum(found.jobs)
FROM (
    SELECT lane, {PENDING} AS state, count(*) AS jobs FROM penstock_ready GROUP BY lane
    UNION ALL
    SELECT lane, {BLOCKED}, count(*) FROM penstock_parked GROUP BY lane
    UNION ALL
    SELECT job.lane, iif(scheduled.due_at <= :now, {PENDING}, {SCHEDULED}), count(*)
    FROM penstock_scheduled AS scheduled
    JOIN penstock_job AS job ON job.seq = scheduled.seq
    GROUP BY 1, 2
    UNION ALL
    SELECT job.lane, iif(lease.started_at IS NULL, {CLAIMED}, {RUNNING}), count(*)
    FROM penstock_lease AS lease
    JOIN penstock_job AS job ON job.seq = lease.seq
    GROUP BY 1, 2
    UNION ALL
    {ended}
    UNION ALL
    SELECT job.lane, told.value ->> 0, sum(told.value ->> 1)
    FROM penstock_job AS job
    LEFT JOIN penstock_parked AS parked ON parked.seq = job.seq
    JOIN json_each(json_array(json_array({EXPIRED}, 1), json_array(iif(parked.seq IS NULL, {PENDING}, {BLOCKED}), -1))) AS told
    WHERE job.seq IN ({overdue})
    GROUP BY 1, 2
) AS found
LEFT JOIN penstock_lane AS lane ON lane.lane = found.lane
WHERE lane.lane IS NOT NULL OR found.lane IS NULL
GROUP BY 1, 2, 3
HAVING sum(found.jobs) > 0
UNION ALL
SELECT step.specs -> planned.spec, NULL, 'planned', planned.jobs
FROM (
    SELECT member.workflow, member.step, member.spec, count(*) AS jobs
    FROM penstock_workflow AS workflow
    JOIN penstock_member AS member ON member.workflow = workflow.id AND member.released = 0
    WHERE workflow.state = 0 AND workflow.stop = 0
    GROUP BY 1, 2, 3
) AS planned
JOIN penstock_step AS step ON step.workflow = planned.workflow AND step.step = planned.step
ORDER BY 1, 2, 3
