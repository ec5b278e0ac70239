DELETE FROM penstock_ticket WHERE id IN (SELECT value FROM json_each(:ids)) RETURNING name
