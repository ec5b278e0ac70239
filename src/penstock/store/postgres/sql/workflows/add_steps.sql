-- The rows are [[step, name, on_failure, pending, size, specs, many], …].
INSERT INTO penstock.step (workflow, step, name, on_failure, pending, size, open, specs, many)
SELECT
    %(workflow)s::uuid, (row ->> 0)::integer, row ->> 1, row ->> 2, (row ->> 3)::integer, (row ->> 4)::integer,
    (row ->> 4)::integer, row ->> 5, (row ->> 6)::boolean
FROM json_array_elements(%(rows)s::text::json) AS row
