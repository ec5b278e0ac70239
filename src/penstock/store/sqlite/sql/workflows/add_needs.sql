-- :rows is [[needed, step], …].
INSERT INTO penstock_need (workflow, needed, step)
SELECT :workflow, value ->> 0, value ->> 1 FROM json_each(:rows)
