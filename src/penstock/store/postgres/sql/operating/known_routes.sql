SELECT DISTINCT type, queue FROM penstock.lane
