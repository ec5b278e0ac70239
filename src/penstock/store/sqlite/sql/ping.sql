SELECT value FROM penstock_meta WHERE key = 'schema_version'
