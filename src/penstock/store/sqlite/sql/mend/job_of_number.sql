SELECT id FROM penstock_job WHERE seq = :seq
