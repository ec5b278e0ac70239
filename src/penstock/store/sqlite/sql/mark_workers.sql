UPDATE penstock_worker SET failing = :failing
WHERE session IN (SELECT value FROM json_each(:sessions)) AND failing <> :failing
