SELECT id, released FROM penstock_member
WHERE workflow = :id AND (state IS NULL OR state <> 1)
ORDER BY step, place
