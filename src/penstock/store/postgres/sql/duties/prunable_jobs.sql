-- The oldest of each state that are older than its age. What somebody else holds is left for the next time.
SELECT old.id::text
FROM unnest(%(states)s::smallint[], %(ages)s::bigint[]) AS rule (state, age)
CROSS JOIN LATERAL (
    SELECT id FROM penstock.outcome
    WHERE outcome.state = rule.state AND outcome.finished_at < penstock.moment(%(now)s::bigint) - rule.age
    ORDER BY outcome.finished_at
    LIMIT %(limit)s::bigint
    FOR UPDATE SKIP LOCKED
) AS old
LIMIT %(limit)s::bigint
