SELECT pg_notify(%(channel)s::text, pg_current_xact_id()::text)
