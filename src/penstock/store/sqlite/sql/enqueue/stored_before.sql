SELECT json_group_array(id) FROM penstock_job WHERE id IN (SELECT value FROM json_each(:ids)) AND seq <= :last_job
