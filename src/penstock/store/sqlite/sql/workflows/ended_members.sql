-- Jobs whose workflow does not know that they have ended. One that is no longer stored was completed and not kept.
-- Those of a workflow whose row somebody has removed would come again and again, before all others.
SELECT member.id, outcome.state, outcome.result
FROM penstock_member AS member
LEFT JOIN penstock_job AS job ON job.id = member.id
LEFT JOIN penstock_outcome AS outcome ON outcome.seq = job.seq
WHERE member.released = 1 AND member.state IS NULL AND (job.seq IS NULL OR outcome.seq IS NOT NULL)
    AND EXISTS (SELECT 1 FROM penstock_workflow AS workflow WHERE workflow.id = member.workflow)
LIMIT :limit
