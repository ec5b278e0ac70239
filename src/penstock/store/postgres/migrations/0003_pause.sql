-- oldest: 1
-- Queues and job types whose jobs are not given out. Workers of a penstock that knows only older versions do not look
-- here: they go on claiming until they are replaced.
CREATE TABLE penstock.pause (
    kind text NOT NULL CHECK (kind IN ('queue', 'type')),
    name text NOT NULL,
    since bigint NOT NULL,
    actor text NOT NULL,
    reason text,
    PRIMARY KEY (kind, name)
);

-- Grows with every pause, resume, drain and resize: whoever has cached what they say knows by it when to look again.
CREATE TABLE penstock.order_number (
    id integer PRIMARY KEY CHECK (id = 1),
    number bigint NOT NULL
);
INSERT INTO penstock.order_number VALUES (1, 0);
