SELECT json_group_array(name) FROM (SELECT name FROM penstock_gate WHERE wake_at <= :now ORDER BY wake_at LIMIT :limit)
