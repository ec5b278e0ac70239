-- What is wrong, or was, and who was told of it.
CREATE TABLE penstock_alert (
    rule TEXT NOT NULL, scope TEXT NOT NULL, -- What is wrong, and with what.
    state TEXT NOT NULL,                -- pending, firing or resolved.
    severity TEXT NOT NULL,             -- info, warning, high or critical.
    key TEXT NOT NULL,                  -- Of this occurrence, for those who are told of it.
    since INTEGER NOT NULL,             -- When it was seen first.
    fired_at INTEGER,
    quiet_at INTEGER,                   -- Since when its cause is gone: it still fires for a while.
    resolved_at INTEGER,
    value REAL, title TEXT NOT NULL, message TEXT NOT NULL,
    tags TEXT NOT NULL,                 -- {name: value}
    told TEXT NOT NULL,                 -- {sink: {sent, arrived, …}}
    sent TEXT NOT NULL,                 -- [moment, …] of the last hour, when people were told.
    revision INTEGER NOT NULL,          -- Grows with every change: of two who change it at once, one does.
    PRIMARY KEY (rule, scope)
) STRICT, WITHOUT ROWID;

-- What people do not want to be told of for a while.
CREATE TABLE penstock_silence (
    rule TEXT NOT NULL, scope TEXT NOT NULL, -- '' is every scope.
    since INTEGER NOT NULL, until INTEGER NOT NULL, -- Moments.
    actor TEXT NOT NULL, reason TEXT,
    PRIMARY KEY (rule, scope)
) STRICT, WITHOUT ROWID;
