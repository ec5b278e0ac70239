SELECT token FROM penstock.lease WHERE session = %(session)s::bigint AND token > %(token)s::bigint ORDER BY token
