UPDATE penstock.leader SET until = penstock.moment(%(now)s::bigint)
WHERE session = %(session)s::bigint AND until > penstock.moment(%(now)s::bigint)
