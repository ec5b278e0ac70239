-- All that have not ended, and the newest of all.
SELECT
    worker.session, worker.id, worker.host, worker.pid, worker.version,
    CASE WHEN worker.failing AND worker.status = 'active' THEN 'inactive' ELSE worker.status END, worker.slots, worker.types, worker.queues,
    worker.capabilities, worker.resources, worker.started_at, worker.heartbeat_at,
    penstock.moment(%(now)s::bigint) - greatest(worker.heartbeat_at, 0), worker.stale_after, coalesce(held.jobs, 0),
    worker.health, worker.failing, worker.unreached, worker.process,
    coalesce(used.cpu, 0), coalesce(used.memory, 0), coalesce(used.gpu, 0), app.version, worker.slots_of
FROM penstock.worker
LEFT JOIN penstock.app_version AS app ON app.session = worker.session
LEFT JOIN (SELECT session, count(*) AS jobs FROM penstock.lease GROUP BY session) AS held
    ON held.session = worker.session
LEFT JOIN (
    SELECT
        lease.session, sum((needs.stored ->> 'cpu')::double precision) AS cpu,
        sum((needs.stored ->> 'memory')::bigint)::bigint AS memory, sum((needs.stored ->> 'gpu')::double precision) AS gpu
    FROM penstock.lease
    JOIN penstock.job ON job.id = lease.id
    JOIN penstock.lane ON lane.lane = job.lane
    CROSS JOIN LATERAL (SELECT nullif(lane.resources, '')::json AS stored) AS needs
    WHERE lease.session IN (SELECT session FROM penstock.worker WHERE resources IS NOT NULL)
    GROUP BY lease.session
) AS used
    ON used.session = worker.session
WHERE worker.status IN ('active', 'draining')
    OR worker.session = ANY (
        ARRAY (SELECT session FROM penstock.worker ORDER BY session DESC LIMIT %(latest)s::bigint)
    )
ORDER BY worker.session DESC
