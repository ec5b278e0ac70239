INSERT INTO penstock_permit (gate, at, token) SELECT :gate, :now, value FROM json_each(:tokens)
