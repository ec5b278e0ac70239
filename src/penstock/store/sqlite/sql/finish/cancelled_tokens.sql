SELECT json_group_array(lease.token)
FROM json_each(:tokens) AS held
JOIN penstock_lease AS lease ON lease.token = held.value
WHERE lease.cancel = 1
