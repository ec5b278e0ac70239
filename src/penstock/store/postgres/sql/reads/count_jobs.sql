-- What workflows have planned comes by its specs, which say the type and the queue.
SELECT *
FROM (
    SELECT
        coalesce(lane.type, '') AS type, coalesce(lane.queue, '') AS queue, found.state, found.code,
        sum(found.jobs)::bigint
    FROM (
        -- What waited for too long has expired, also while nobody is there to move it.
        SELECT
            lane,
            CASE
                WHEN expires_at <= penstock.moment(%(now)s::bigint) THEN NULL
                WHEN due_at <= penstock.moment(%(now)s::bigint) THEN {PENDING}
                ELSE {SCHEDULED}
            END AS state,
            CASE WHEN expires_at <= penstock.moment(%(now)s::bigint) THEN {EXPIRED}::smallint END AS code, count(*) AS jobs
        FROM penstock.waiting
        GROUP BY 1, 2, 3
        UNION ALL
        SELECT
            lane, CASE WHEN expires_at <= penstock.moment(%(now)s::bigint) THEN NULL ELSE {BLOCKED} END,
            CASE WHEN expires_at <= penstock.moment(%(now)s::bigint) THEN {EXPIRED}::smallint END, count(*)
        FROM penstock.parked
        GROUP BY 1, 2, 3
        UNION ALL
        SELECT job.lane, CASE WHEN lease.started_at IS NULL THEN {CLAIMED} ELSE {RUNNING} END, NULL, count(*)
        FROM penstock.lease
        JOIN penstock.job ON job.id = lease.id
        GROUP BY 1, 2
        UNION ALL
        {ended}
    ) AS found
    LEFT JOIN penstock.lane ON lane.lane = found.lane
    WHERE lane.lane IS NOT NULL OR found.lane IS NULL
    GROUP BY 1, 2, 3, 4
    UNION ALL
    SELECT (step.specs::json -> planned.spec)::text, NULL, 'planned', NULL, planned.jobs
    FROM (
        SELECT member.workflow, member.step, member.spec, count(*) AS jobs
        FROM penstock.workflow
        JOIN penstock.member ON member.workflow = workflow.id AND NOT member.released
        WHERE workflow.state = 0 AND workflow.stop = 0
        GROUP BY 1, 2, 3
    ) AS planned
    JOIN penstock.step ON step.workflow = planned.workflow AND step.step = planned.step
) AS counted
ORDER BY type COLLATE "C", queue COLLATE "C", state COLLATE "C", code
