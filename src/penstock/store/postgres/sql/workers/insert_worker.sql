-- Sessions follow the clock, in seconds: the worker of one that a restored dump has undone may still be there. Two never
-- come here at once: the tokens were moved before, under a lock that lasts. Nor is one given that still holds jobs and
-- whose row somebody has removed; workers that begin together are ahead of the clock by as many seconds as they are.
INSERT INTO penstock.worker (
    session, id, host, pid, version, status, slots, types, queues, capabilities, resources, started_at, heartbeat_at,
    stale_after, health, process, slots_of
)
OVERRIDING SYSTEM VALUE
VALUES (
    greatest(
        penstock.moment(%(now)s::bigint) / 1000000, 1 + (SELECT max(known.session) FROM penstock.worker AS known),
        1 + (
            SELECT max(lease.session) FROM penstock.lease
            WHERE lease.session < penstock.moment(%(now)s::bigint) / 1000000 + 1000000
        )
    ),
    %(id)s::text, %(host)s::text, %(pid)s::integer, %(version)s::text, 'active', %(slots)s::integer, %(types)s::text,
    %(queues)s::text, %(capabilities)s::text, %(resources)s::text, penstock.moment(%(now)s::bigint),
    penstock.moment(%(now)s::bigint), %(stale_after)s::bigint, %(health)s::text, %(process)s::text, %(slots_of)s::text
)
ON CONFLICT (id) WHERE status IN ('active', 'draining') DO NOTHING
RETURNING session, heartbeat_at
