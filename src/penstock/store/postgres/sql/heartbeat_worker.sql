-- One that was told to drain stays draining. A mark that nobody renews is over after so many beats.
UPDATE penstock.worker SET
    heartbeat_at = penstock.moment(%(now)s::bigint),
    status = CASE WHEN status = 'draining' AND %(status)s::text = 'active' THEN status ELSE %(status)s::text END,
    marked = greatest(marked - 1, 0), failing = failing AND marked > 1 AND %(status)s::text <> 'inactive',
    unreached = unreached AND marked > 1
WHERE session = %(session)s::bigint AND status IN ('active', 'draining')
RETURNING session
