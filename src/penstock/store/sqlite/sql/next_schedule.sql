SELECT min(next_at) FROM penstock_schedule WHERE status = 'active' AND next_at > :now
