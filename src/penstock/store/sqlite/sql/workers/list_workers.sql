-- All that have not ended, and the newest of all.
SELECT
    worker.session, worker.id, worker.host, worker.pid, worker.version,
    iif(worker.failing AND worker.status = 'active', 'inactive', worker.status), worker.slots, worker.types, worker.queues,
    worker.capabilities, worker.resources, worker.started_at, worker.heartbeat_at, :now - worker.heartbeat_at,
    worker.stale_after, coalesce(held.jobs, 0), worker.health, worker.failing, worker.unreached, worker.process,
    coalesce(used.cpu, 0.0), coalesce(used.memory, 0), coalesce(used.gpu, 0.0), app.version, worker.slots_of
FROM penstock_worker AS worker
LEFT JOIN penstock_app_version AS app ON app.session = worker.session
LEFT JOIN (SELECT session, count(*) AS jobs FROM penstock_lease GROUP BY session) AS held
    ON held.session = worker.session
LEFT JOIN (
    SELECT
        lease.session, sum(lane.resources ->> 'cpu') AS cpu, sum(lane.resources ->> 'memory') AS memory,
        sum(lane.resources ->> 'gpu') AS gpu
    FROM penstock_lease AS lease
    JOIN penstock_job AS job ON job.seq = lease.seq
    JOIN penstock_lane AS lane ON lane.lane = job.lane AND json_valid(lane.resources)
    WHERE lease.session IN (SELECT session FROM penstock_worker WHERE resources IS NOT NULL)
    GROUP BY lease.session
) AS used
    ON used.session = worker.session
WHERE worker.status IN ('active', 'draining') OR worker.session IN (
    SELECT session FROM penstock_worker ORDER BY session DESC LIMIT :latest
)
ORDER BY worker.session DESC
