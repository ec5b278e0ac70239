UPDATE penstock_schedule SET last_job = :job WHERE name = :name
