DELETE FROM penstock_pause WHERE kind = :kind AND name IN (SELECT value FROM json_each(:names)) RETURNING name
