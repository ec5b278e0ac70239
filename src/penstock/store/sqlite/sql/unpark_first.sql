DELETE FROM penstock_parked WHERE gate = :gate AND seq = (SELECT seq FROM penstock_job WHERE id = :id)
