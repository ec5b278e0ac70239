SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity
WHERE pid = %(pid)s::integer AND backend_start::text = %(begun)s::text AND pid <> pg_backend_pid()
