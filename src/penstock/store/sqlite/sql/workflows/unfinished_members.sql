SELECT id, released FROM penstock_member
WHERE workflow = :id AND (state IS NULL OR state <> {COMPLETED})
ORDER BY step, place
