SELECT origin, most, period FROM penstock.gate_limit ORDER BY origin COLLATE "C"
