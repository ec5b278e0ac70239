SELECT id::text FROM penstock.member
WHERE workflow = %(id)s::uuid AND released AND state IS NULL
    AND (%(after)s::text = '' OR id > nullif(%(after)s::text, '')::uuid)
ORDER BY id
LIMIT %(limit)s::bigint
