SELECT lane, stamp, type, queue, capability, resources FROM penstock_lane WHERE lane > :known ORDER BY lane
