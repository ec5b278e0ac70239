SELECT 1 FROM penstock_worker WHERE session = :session AND status IN ('active', 'draining') AND NOT failing
