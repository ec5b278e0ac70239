INSERT INTO penstock_app_version (session, version, started_at) VALUES (:session, :version, :now)
