SELECT min(due_at) FROM penstock_scheduled
