SELECT DISTINCT types, queues FROM penstock_worker
