SELECT 1 FROM penstock_leader WHERE term = :term
