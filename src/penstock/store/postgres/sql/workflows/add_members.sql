-- The rows are [[id, step, place, spec, payload, gates], …].
INSERT INTO penstock.member (workflow, id, step, place, spec, payload, gates)
SELECT
    %(workflow)s::uuid, (row ->> 0)::uuid, (row ->> 1)::integer, (row ->> 2)::integer, (row ->> 3)::integer, row ->> 4,
    row ->> 5
FROM json_array_elements(%(rows)s::text::json) AS row
