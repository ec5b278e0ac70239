-- Where nothing is limited there is nothing to release, and not one of the tokens is looked for.
DELETE FROM penstock_hold
WHERE token IN (
    SELECT CAST(key AS INTEGER) FROM json_each(iif(EXISTS (SELECT 1 FROM penstock_hold), :done, '{}'))
)
RETURNING gate
