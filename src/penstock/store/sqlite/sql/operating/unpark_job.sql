DELETE FROM penstock_parked WHERE seq = :seq
