UPDATE penstock_outcome SET retried_as = :new_id WHERE seq = :seq
