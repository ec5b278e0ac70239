SELECT json_group_array(lease.seq)
FROM json_each(:rows) AS done
JOIN penstock_lease AS lease ON lease.token = done.value ->> 0
WHERE NOT lease.cancel
