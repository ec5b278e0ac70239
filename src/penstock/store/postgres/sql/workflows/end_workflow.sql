UPDATE penstock.workflow
SET state = CASE WHEN stop = 0 THEN 1 ELSE stop END, ended_at = penstock.moment(%(now)s::bigint)
WHERE id = %(id)s::uuid
RETURNING state, compensate
