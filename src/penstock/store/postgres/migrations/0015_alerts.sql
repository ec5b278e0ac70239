-- What is wrong, or was, and who was told of it.
CREATE TABLE penstock.alert (
    rule text NOT NULL, scope text NOT NULL, -- What is wrong, and with what.
    state text NOT NULL,                -- pending, firing or resolved.
    severity text NOT NULL,             -- info, warning, high or critical.
    key text NOT NULL,                  -- Of this occurrence, for those who are told of it.
    since bigint NOT NULL,              -- When it was seen first.
    fired_at bigint,
    quiet_at bigint,                    -- Since when its cause is gone: it still fires for a while.
    resolved_at bigint,
    value double precision, title text NOT NULL, message text NOT NULL,
    tags text NOT NULL,                 -- {name: value}
    told text NOT NULL,                 -- {sink: {sent, arrived, …}}
    sent text NOT NULL,                 -- [moment, …] of the last hour, when people were told.
    revision bigint NOT NULL,           -- Grows with every change: of two who change it at once, one does.
    PRIMARY KEY (rule, scope)
);

-- What people do not want to be told of for a while.
CREATE TABLE penstock.silence (
    rule text NOT NULL, scope text NOT NULL, -- '' is every scope.
    since bigint NOT NULL, until bigint NOT NULL, -- Moments.
    actor text NOT NULL, reason text,
    PRIMARY KEY (rule, scope)
);
