SELECT json_group_array(lease.seq)
FROM json_each(:rows) AS row
JOIN penstock_lease AS lease ON lease.token = row.value ->> 0
WHERE (row.value ->> 1) AND NOT lease.cancel AND (row.value ->> 12)
