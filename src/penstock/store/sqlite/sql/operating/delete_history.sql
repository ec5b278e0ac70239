DELETE FROM penstock_history WHERE seq IN (SELECT value FROM json_each(:seqs))
