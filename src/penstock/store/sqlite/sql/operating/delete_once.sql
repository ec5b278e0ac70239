DELETE FROM penstock_once WHERE seq IN (SELECT value FROM json_each(:seqs))
