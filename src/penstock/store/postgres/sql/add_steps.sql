-- The rows are [[step, name, on_failure, pending, size, specs], …].
INSERT INTO penstock.step (workflow, step, name, on_failure, pending, size, open, specs)
SELECT
    %(workflow)s::uuid, (row ->> 0)::integer, row ->> 1, row ->> 2, (row ->> 3)::integer, (row ->> 4)::integer,
    (row ->> 4)::integer, row ->> 5
FROM json_array_elements(%(rows)s::text::json) AS row
