SELECT pg_notify(%(channel)s::text, '')
