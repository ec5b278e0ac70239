INSERT INTO penstock_audit (at, actor, action, detail) VALUES (:now, :actor, :action, :detail)
