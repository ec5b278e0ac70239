-- Like count_jobs, for the jobs of some tenants or tags: every job is looked at. {where} is filled in by pages.py from
-- fixed texts. Of what workflows have planned come all, by their specs.
SELECT *
FROM (
    SELECT
        lane.type, lane.queue,
        CASE
            WHEN outcome.state IS NOT NULL THEN NULL
            WHEN lease.token IS NOT NULL THEN CASE WHEN lease.started_at IS NULL THEN {CLAIMED} ELSE {RUNNING} END
            WHEN coalesce(waiting.expires_at, parked.expires_at) <= penstock.moment(%(now)s::bigint) THEN NULL
            WHEN parked.gate IS NOT NULL THEN {BLOCKED}
            WHEN job.due_at > penstock.moment(%(now)s::bigint) THEN {SCHEDULED}
            ELSE {PENDING}
        END AS state,
        CASE
            WHEN outcome.state IS NOT NULL OR lease.token IS NOT NULL THEN outcome.state
            WHEN coalesce(waiting.expires_at, parked.expires_at) <= penstock.moment(%(now)s::bigint) THEN {EXPIRED}::smallint
        END AS code,
        count(*), job.org, lane.capability
    FROM penstock.job
    JOIN penstock.lane ON lane.lane = job.lane
    LEFT JOIN penstock.lease ON lease.id = job.id
    LEFT JOIN penstock.outcome ON outcome.id = job.id
    LEFT JOIN penstock.parked ON parked.id = job.id
    LEFT JOIN penstock.waiting
        ON waiting.lane = job.lane AND waiting.due_at = job.due_at AND waiting.id = job.id
    WHERE {where}
    GROUP BY lane.type, lane.queue, 3, 4, job.org, lane.capability
    UNION ALL
    SELECT (step.specs::json -> planned.spec)::text, NULL, 'planned', NULL, planned.jobs, NULL, NULL
    FROM (
        SELECT member.workflow, member.step, member.spec, count(*) AS jobs
        FROM penstock.workflow
        JOIN penstock.member ON member.workflow = workflow.id AND NOT member.released
        WHERE workflow.state = 0 AND workflow.stop = 0
        GROUP BY 1, 2, 3
    ) AS planned
    JOIN penstock.step ON step.workflow = planned.workflow AND step.step = planned.step
) AS counted
ORDER BY type COLLATE "C", queue COLLATE "C", org COLLATE "C" NULLS FIRST, state, code, capability COLLATE "C"
