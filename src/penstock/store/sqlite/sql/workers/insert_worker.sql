-- Sessions follow the clock, in seconds: the worker of one that a restored backup has undone may still be there.
INSERT INTO penstock_worker (
    session, id, host, pid, version, status, slots, queues, capabilities, resources, types, bell, started_at, heartbeat_at,
    stale_after, health, process, slots_of
)
VALUES (
    max(
        :now / 1000000, 1 + coalesce((SELECT max(seq) FROM sqlite_sequence WHERE name = 'penstock_worker'), 0)
    ),
    :id, :host, :pid, :version, 'active', :slots, :queues, :capabilities, :resources, :types, :bell, :now, :now,
    :stale_after, :health, :process, :slots_of
)
RETURNING session, heartbeat_at
