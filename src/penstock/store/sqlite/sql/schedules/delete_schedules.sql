DELETE FROM penstock_schedule
WHERE (name, revision) IN (
    SELECT gone.value, old.value FROM json_each(:names) AS gone JOIN json_each(:revisions) AS old ON old.key = gone.key
)
RETURNING name
