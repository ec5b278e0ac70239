SELECT lane, type, queue, capability, resources, priority FROM penstock.lane WHERE lane > %(known)s::integer ORDER BY lane
