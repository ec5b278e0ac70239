DELETE FROM penstock_alert WHERE resolved_at < :now - :age
