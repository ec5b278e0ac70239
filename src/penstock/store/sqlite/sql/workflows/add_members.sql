-- :rows is [[id, step, place, spec, payload, gates], …].
INSERT INTO penstock_member (workflow, id, step, place, spec, payload, gates)
SELECT :workflow, value ->> 0, value ->> 1, value ->> 2, value ->> 3, value ->> 4, value ->> 5 FROM json_each(:rows)
