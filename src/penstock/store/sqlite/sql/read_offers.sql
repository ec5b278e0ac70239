SELECT session, id, status, types, queues, capabilities, resources FROM penstock_worker
