SELECT name, options FROM penstock_type ORDER BY name
