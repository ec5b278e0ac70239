-- What the workers take that claim: not draining, answering their probes, and heard of in time.
SELECT id, types, queues, capabilities, resources FROM penstock_worker
WHERE status = 'active' AND NOT failing AND :now - heartbeat_at <= stale_after
