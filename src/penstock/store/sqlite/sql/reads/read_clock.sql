-- The clock is this machine's; that the store answers is what the caller wants to know.
SELECT :now, (SELECT value FROM penstock_meta WHERE key = 'schema_version')
