SELECT penstock.moment(%(now)s::bigint)
