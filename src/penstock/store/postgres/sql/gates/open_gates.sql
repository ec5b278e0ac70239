SELECT penstock.open_gates(%(now)s::bigint)::text
