UPDATE penstock_job SET priority = :raised WHERE seq = :seq
