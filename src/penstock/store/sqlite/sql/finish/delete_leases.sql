-- Those that a person cancelled stay for a moment, so that they are looked for only where they are missing here.
DELETE FROM penstock_lease WHERE token IN (SELECT value ->> 0 FROM json_each(:rows)) AND cancel = 0
