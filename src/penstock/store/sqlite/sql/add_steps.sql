-- :rows is [[step, name, on_failure, pending, size, specs], …].
INSERT INTO penstock_step (workflow, step, name, on_failure, pending, size, open, specs)
SELECT
    :workflow, value ->> 0, value ->> 1, value ->> 2, value ->> 3, value ->> 4, value ->> 4, value ->> 5
FROM json_each(:rows)
