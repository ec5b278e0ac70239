-- One that was told to drain stays draining. One whose last heartbeat (`seen`) is not there is not known: a dump was
-- restored since, and what it says of the jobs in this worker's hands is of the past. A mark that nobody renews is over
-- after so many beats.
UPDATE penstock.worker SET
    heartbeat_at = penstock.moment(%(now)s::bigint),
    status = CASE WHEN status = 'draining' AND %(status)s::text = 'active' THEN status ELSE %(status)s::text END,
    marked = greatest(marked - 1, 0), failing = failing AND marked > 1 AND %(status)s::text <> 'inactive',
    unreached = unreached AND marked > 1
WHERE session = %(session)s::bigint AND status IN ('active', 'draining')
    AND (%(seen)s::bigint IS NULL OR heartbeat_at >= %(seen)s::bigint)
RETURNING heartbeat_at
