-- What the workers take that claim: not draining, answering their probes, and heard of in time.
SELECT types, queues, capabilities, resources FROM penstock.worker
WHERE status = 'active' AND NOT failing AND penstock.moment(%(now)s::bigint) - heartbeat_at <= stale_after
