INSERT INTO penstock_lane (type, queue, capability, resources) VALUES (:type, :queue, :capability, :resources)
