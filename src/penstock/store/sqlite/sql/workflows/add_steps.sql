-- :rows is [[step, name, on_failure, pending, size, specs, many], …].
INSERT INTO penstock_step (workflow, step, name, on_failure, pending, size, open, specs, many)
SELECT
    :workflow, value ->> 0, value ->> 1, value ->> 2, value ->> 3, value ->> 4, value ->> 4, value ->> 5, value ->> 6
FROM json_each(:rows)
