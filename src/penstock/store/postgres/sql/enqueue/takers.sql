-- What the workers take that claim: not draining, answering their probes, and heard of in time.
SELECT id, types, queues, capabilities, resources FROM penstock.worker
WHERE status = 'active' AND NOT failing AND penstock.moment(%(now)s::bigint) - greatest(heartbeat_at, 0) <= stale_after
