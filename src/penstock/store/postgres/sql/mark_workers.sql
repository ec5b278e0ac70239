UPDATE penstock.worker SET failing = %(failing)s::boolean
WHERE session = ANY (%(sessions)s::bigint[]) AND failing <> %(failing)s::boolean
