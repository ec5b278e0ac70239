-- :ended is [[id, state, result], …]. What belongs to a workflow whose row somebody has removed is counted nowhere.
UPDATE penstock_member
SET state = ended.value ->> 1, result = ended.value ->> 2
FROM json_each(:ended) AS ended
WHERE penstock_member.id = ended.value ->> 0 AND penstock_member.state IS NULL AND penstock_member.released = 1
    AND EXISTS (SELECT 1 FROM penstock_workflow AS workflow WHERE workflow.id = penstock_member.workflow)
RETURNING penstock_member.workflow, penstock_member.step, penstock_member.state
