UPDATE penstock.schedule SET last_job = %(job)s::text WHERE name = %(name)s::text
