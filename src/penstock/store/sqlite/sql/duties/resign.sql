UPDATE penstock_leader SET until = :now WHERE session = :session AND until > :now
