-- The rows are [[id, state, result], …]. Their workflows are locked first, in order.
WITH ended AS MATERIALIZED (
    SELECT (row ->> 0)::uuid AS id, (row ->> 1)::smallint AS state, row ->> 2 AS result
    FROM json_array_elements(%(ended)s::text::json) AS row
),
locked AS MATERIALIZED (
    SELECT workflow.id FROM penstock.workflow
    WHERE workflow.id IN (SELECT member.workflow FROM penstock.member WHERE member.id IN (SELECT ended.id FROM ended))
    ORDER BY workflow.id
    FOR UPDATE
)
UPDATE penstock.member SET state = ended.state, result = ended.result
FROM ended
WHERE member.id = ended.id AND member.state IS NULL AND member.released
    AND member.workflow IN (SELECT locked.id FROM locked)
RETURNING member.workflow::text, member.step, member.state
