SELECT id::text, released FROM penstock.member
WHERE workflow = %(id)s::uuid AND (state IS NULL OR state <> {COMPLETED})
ORDER BY step, place
