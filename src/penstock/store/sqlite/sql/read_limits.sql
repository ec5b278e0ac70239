SELECT origin, most, period FROM penstock_limit ORDER BY origin
