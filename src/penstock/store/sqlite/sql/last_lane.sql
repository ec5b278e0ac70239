SELECT coalesce(max(lane), 0) FROM penstock_lane
