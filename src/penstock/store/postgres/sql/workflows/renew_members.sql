-- The rows are [[old id, new id], …].
UPDATE penstock.member SET id = (row ->> 1)::uuid, released = false, state = NULL, result = NULL
FROM json_array_elements(%(rows)s::text::json) AS row
WHERE member.id = (row ->> 0)::uuid
