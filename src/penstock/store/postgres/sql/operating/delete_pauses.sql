DELETE FROM penstock.pause WHERE kind = %(kind)s::text AND name = ANY (%(names)s::text[]) RETURNING name
