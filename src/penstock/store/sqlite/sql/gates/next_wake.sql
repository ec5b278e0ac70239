SELECT min(wake_at) FROM penstock_gate WHERE wake_at IS NOT NULL
