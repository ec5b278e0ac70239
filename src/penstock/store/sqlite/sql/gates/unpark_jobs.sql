DELETE FROM penstock_parked WHERE seq IN (SELECT value FROM json_each(:seqs))
