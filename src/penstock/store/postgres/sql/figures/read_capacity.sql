SELECT * FROM penstock.capacity ORDER BY type, queue, capability
