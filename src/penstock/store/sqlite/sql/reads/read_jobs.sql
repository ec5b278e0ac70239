-- A job with wherever its pointer is, and the moment; one without a lane is there too, and refused when it is made. The
-- condition and the order are filled in by pages.py from fixed texts.
SELECT
    job.id, lane.type, lane.queue, lane.capability, job.payload, job.priority, job.org, job.workspace, job.tags,
    job.unique_key, coalesce(outcome.attempt, lease.attempt, job.attempt), job.policy, job.crashes, coalesce(job.snoozes, 0), job.created_at,
    job.due_at, coalesce(outcome.claimed_at, lease.claimed_at), coalesce(outcome.started_at, lease.started_at),
    outcome.finished_at, worker.id, worker.heartbeat_at, coalesce(outcome.progress, lease.progress), outcome.result,
    job.error, outcome.reason, outcome.decided_by, job.parent, job.retried_from, outcome.retried_as,
    coalesce(lease.cancel, 0), outcome.state, lease.token, job.gates, gate.name, gate.most, gate.period,
    gate.ordered,
    -- Found by what the policy says: the row is kept by moment, and is another one's if the job was returned since.
    (
        SELECT ttl.expires_at FROM penstock_ttl AS ttl
        WHERE ttl.expires_at = job.due_at + CAST(iif(json_valid(job.policy), job.policy ->> 'l', NULL) * 1e6 AS INTEGER) AND ttl.id = job.id
            AND ttl.due_at = job.due_at AND job.attempt = 0
    ),
    app.version, :now
FROM penstock_job AS job
LEFT JOIN penstock_lane AS lane ON lane.lane = job.lane
LEFT JOIN penstock_lease AS lease ON lease.seq = job.seq
LEFT JOIN penstock_outcome AS outcome ON outcome.seq = job.seq
LEFT JOIN penstock_parked AS parked ON parked.seq = job.seq
LEFT JOIN penstock_gate AS gate ON gate.gate = parked.gate
LEFT JOIN penstock_worker AS worker ON worker.session = coalesce(outcome.session, lease.session)
LEFT JOIN penstock_app_version AS app ON app.session = coalesce(outcome.session, lease.session)
WHERE {where}
ORDER BY {order}
LIMIT :limit OFFSET :offset
