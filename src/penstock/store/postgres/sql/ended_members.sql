-- Jobs whose workflow does not know that they have ended. One that is no longer stored was completed and not kept.
SELECT member.id::text, outcome.state, outcome.result
FROM penstock.member
LEFT JOIN penstock.job ON job.id = member.id
LEFT JOIN penstock.outcome ON outcome.id = member.id
WHERE member.released AND member.state IS NULL AND (job.id IS NULL OR outcome.id IS NOT NULL)
LIMIT %(limit)s::bigint
