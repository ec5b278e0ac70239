UPDATE penstock.worker SET slots = %(slots)s::integer WHERE session = %(session)s::bigint
