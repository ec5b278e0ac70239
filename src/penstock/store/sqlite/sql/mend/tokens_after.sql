SELECT json_group_array(token) FROM penstock_lease WHERE token > :token
