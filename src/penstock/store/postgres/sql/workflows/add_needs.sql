-- The rows are [[needed, step], …].
INSERT INTO penstock.need (workflow, needed, step)
SELECT %(workflow)s::uuid, (row ->> 0)::integer, (row ->> 1)::integer
FROM json_array_elements(%(rows)s::text::json) AS row
