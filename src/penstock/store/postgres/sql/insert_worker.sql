INSERT INTO penstock.worker (
    id, host, pid, version, status, slots, types, queues, capabilities, resources, started_at, heartbeat_at, stale_after,
    health, process
)
VALUES (
    %(id)s::text, %(host)s::text, %(pid)s::integer, %(version)s::text, 'active', %(slots)s::integer, %(types)s::text,
    %(queues)s::text, %(capabilities)s::text, %(resources)s::text, penstock.moment(%(now)s::bigint),
    penstock.moment(%(now)s::bigint), %(stale_after)s::bigint, %(health)s::text, %(process)s::text
)
ON CONFLICT (id) WHERE status IN ('active', 'draining') DO NOTHING
RETURNING session
