SELECT orgs, upto
FROM penstock.waiting_tenants(%(lanes)s::integer[], %(after)s::text, %(limit)s::bigint, %(now)s::bigint)
