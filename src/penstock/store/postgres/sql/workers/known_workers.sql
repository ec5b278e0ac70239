SELECT DISTINCT types, queues FROM penstock.worker
