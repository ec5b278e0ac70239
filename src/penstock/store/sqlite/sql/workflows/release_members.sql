UPDATE penstock_member SET released = 1
WHERE workflow = :workflow AND step = :step AND released = 0 AND state IS NULL
RETURNING place, id, spec, payload, gates
