SELECT json_group_array(lease.seq)
FROM json_each(:done) AS done
JOIN penstock_lease AS lease ON lease.token = CAST(done.key AS INTEGER)
WHERE NOT lease.cancel
