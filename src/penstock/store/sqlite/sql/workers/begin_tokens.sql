INSERT INTO sqlite_sequence (name, seq) VALUES ('penstock_lease', :now)
