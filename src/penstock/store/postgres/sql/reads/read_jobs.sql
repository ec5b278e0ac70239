-- Jobs with wherever their pointers are. The page, (id, total), and its order are filled in by pages.py from fixed
-- texts. One job after the other by its keys, so that no plan ever reads a whole table for a page. A page may hold a
-- row without an id, which carries the total alone.
SELECT job.*, page.total
FROM ({page}) AS page
LEFT JOIN LATERAL (
    SELECT
        job.id::text, lane.type, lane.queue, lane.capability, job.payload, lane.priority, job.org,
        job.workspace, job.tags,
        job.unique_key, coalesce(outcome.attempt, lease.attempt, job.attempt), job.policy, job.crashes, coalesce(job.snoozes, 0), job.created_at,
        job.due_at, coalesce(outcome.claimed_at, lease.claimed_at), coalesce(outcome.started_at, lease.started_at),
        outcome.finished_at, worker.id, worker.heartbeat_at, coalesce(outcome.progress, lease.progress),
        outcome.result, job.error, outcome.reason, outcome.decided_by, job.parent::text, job.retried_from::text,
        outcome.retried_as::text, coalesce(lease.cancel, false), outcome.state, lease.token,
        job.gates, gate.name, coalesce(gate.most, 0), gate.period, coalesce(gate.ordered, false),
        coalesce(waiting.expires_at, parked.expires_at), app.version,
        penstock.moment(%(now)s::bigint)
    FROM penstock.job
    JOIN penstock.lane ON lane.lane = job.lane
    LEFT JOIN penstock.lease ON lease.id = job.id
    LEFT JOIN penstock.outcome ON outcome.id = job.id
    LEFT JOIN penstock.parked ON parked.id = job.id
    LEFT JOIN penstock.waiting
        ON waiting.lane = job.lane AND waiting.due_at = job.due_at AND waiting.id = job.id
    LEFT JOIN penstock.gate ON gate.gate = parked.gate
    LEFT JOIN penstock.worker ON worker.session = coalesce(outcome.session, lease.session)
    LEFT JOIN penstock.app_version AS app ON app.session = coalesce(outcome.session, lease.session)
    WHERE job.id = page.id
    LIMIT 1
) AS job ON true
ORDER BY {order}
