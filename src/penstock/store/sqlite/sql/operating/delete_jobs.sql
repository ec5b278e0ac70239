DELETE FROM penstock_job WHERE seq IN (SELECT value FROM json_each(:seqs))
