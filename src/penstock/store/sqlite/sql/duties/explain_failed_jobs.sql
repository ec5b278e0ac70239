UPDATE penstock_job SET error = :error WHERE seq IN (SELECT value FROM json_each(:seqs))
