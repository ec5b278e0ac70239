-- Those that a person cancelled stay for a moment, so that they are looked for only where they are missing here.
DELETE FROM penstock_lease WHERE token IN (SELECT CAST(key AS INTEGER) FROM json_each(:done)) AND cancel = 0
