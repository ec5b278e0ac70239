INSERT INTO penstock_worker (
    id, host, pid, version, status, slots, queues, capabilities, resources, types, bell, started_at, heartbeat_at,
    stale_after, health
)
VALUES (
    :id, :host, :pid, :version, 'active', :slots, :queues, :capabilities, :resources, :types, :bell, :now, :now,
    :stale_after, :health
)
