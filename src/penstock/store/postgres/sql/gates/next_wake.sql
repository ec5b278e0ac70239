SELECT min(wake_at) FROM penstock.gate WHERE wake_at IS NOT NULL
