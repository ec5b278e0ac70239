DELETE FROM penstock_workflow WHERE id IN (SELECT value FROM json_each(:workflows))
