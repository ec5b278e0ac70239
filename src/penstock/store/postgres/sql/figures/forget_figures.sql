DELETE FROM penstock.figure WHERE span = %(span)s::bigint AND at < penstock.moment(%(now)s::bigint) - %(age)s::bigint
