SELECT json_group_array(held.value)
FROM json_each(:tokens) AS held
WHERE NOT EXISTS (SELECT 1 FROM penstock_lease AS lease WHERE lease.token = held.value)
