DELETE FROM penstock_outcome WHERE seq IN (SELECT value FROM json_each(:seqs))
