SELECT * FROM penstock_capacity ORDER BY type, queue, capability
