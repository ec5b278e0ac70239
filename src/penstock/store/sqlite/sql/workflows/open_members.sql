SELECT id FROM penstock_member
WHERE workflow = :id AND released = 1 AND state IS NULL AND id > :after
ORDER BY id
LIMIT :limit
