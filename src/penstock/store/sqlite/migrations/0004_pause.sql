-- oldest: 1
-- Queues and job types whose jobs are not given out. Workers of a penstock that knows only older versions do not look
-- here: they go on claiming until they are replaced.
CREATE TABLE penstock_pause (
    kind TEXT NOT NULL CHECK (kind IN ('queue', 'type')),
    name TEXT NOT NULL,
    since INTEGER NOT NULL,
    actor TEXT NOT NULL,
    reason TEXT,
    PRIMARY KEY (kind, name)
) STRICT, WITHOUT ROWID;

-- Grows with every pause and resume: whoever has cached what is paused knows by it when to look again.
CREATE TABLE penstock_order_number (
    id INTEGER PRIMARY KEY CHECK (id = 1),
    number INTEGER NOT NULL
) STRICT;
INSERT INTO penstock_order_number VALUES (1, 0);
