SELECT DISTINCT type, queue FROM penstock_lane
