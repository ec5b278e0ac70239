SELECT origin, most, period FROM penstock_gate_limit ORDER BY origin
