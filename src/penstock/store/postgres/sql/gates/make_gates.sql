SELECT penstock.make_gates(%(gates)s::text::jsonb)::text
