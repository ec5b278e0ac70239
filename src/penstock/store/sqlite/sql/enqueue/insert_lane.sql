INSERT INTO penstock_lane (type, queue, capability, resources, stamp)
VALUES (:type, :queue, :capability, :resources, random())
RETURNING lane, stamp
