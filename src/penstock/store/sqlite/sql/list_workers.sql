-- Of `unreadable` ones is shown what can be: they take nothing.
SELECT json_group_array(
    json_object(
        'session', worker.session, 'id', id, 'host', host, 'pid', pid, 'version', version, 'status',
        iif(
            (failing AND status = 'active')
            OR (unreadable.session AND status NOT IN ('active', 'draining', 'inactive', 'lost')), 'inactive', status
        ),
        'slots', slots,
        'types', json(iif(unreadable.session, '[]', types)), 'queues', json(iif(unreadable.session, NULL, queues)),
        'capabilities', json(iif(unreadable.session, '[]', capabilities)),
        'resources', json(iif(unreadable.session, NULL, resources)),
        'started_at', started_at, 'heartbeat_at', heartbeat_at,
        'silent', (:now - heartbeat_at) / 1e6, 'stale_after', stale_after / 1e6, 'jobs', coalesce(held.jobs, 0),
        'health', health, 'failing', json(iif(failing, 'true', 'false')),
        'unreached', json(iif(unreached, 'true', 'false')), 'process', process,
        'used', json_object(
            'cpu', coalesce(used.cpu, 0.0), 'memory', coalesce(used.memory, 0), 'gpu', coalesce(used.gpu, 0.0)
        )
    )
    ORDER BY worker.session DESC
)
FROM penstock_worker AS worker
LEFT JOIN (SELECT value AS session FROM json_each(:unreadable)) AS unreadable ON unreadable.session = worker.session
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
WHERE status IN ('active', 'draining') OR worker.session IN (
    SELECT session FROM penstock_worker ORDER BY session DESC LIMIT :latest
)
