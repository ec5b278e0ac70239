INSERT INTO penstock_gate_limit (origin, most, period) VALUES (:origin, :most, :period)
ON CONFLICT (origin) DO UPDATE SET most = excluded.most, period = excluded.period
