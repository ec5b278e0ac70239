-- Jobs whose workflow does not know that they have ended. One that is no longer stored was completed and not kept.
-- Those of a workflow whose row somebody has removed would come again and again, before all others.
SELECT member.id::text, outcome.state, outcome.result
FROM penstock.member
LEFT JOIN penstock.job ON job.id = member.id
LEFT JOIN penstock.outcome ON outcome.id = member.id
WHERE member.released AND member.state IS NULL AND (job.id IS NULL OR outcome.id IS NOT NULL)
    AND EXISTS (SELECT 1 FROM penstock.workflow WHERE workflow.id = member.workflow)
LIMIT %(limit)s::bigint
