-- :ended is [[id, state, result], …].
UPDATE penstock_member
SET state = ended.value ->> 1, result = ended.value ->> 2
FROM json_each(:ended) AS ended
WHERE penstock_member.id = ended.value ->> 0 AND penstock_member.state IS NULL AND penstock_member.released = 1
RETURNING penstock_member.workflow, penstock_member.step, penstock_member.state
