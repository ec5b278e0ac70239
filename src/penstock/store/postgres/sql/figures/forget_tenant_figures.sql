DELETE FROM penstock.tenant_figure WHERE span = %(span)s::bigint AND at < penstock.moment(%(now)s::bigint) -
    %(age)s::bigint
