-- :rows is [[old id, new id], …].
UPDATE penstock_member
SET id = renewed.value ->> 1, released = 0, state = NULL, result = NULL
FROM json_each(:rows) AS renewed
WHERE penstock_member.id = renewed.value ->> 0
