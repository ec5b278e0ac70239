-- The leases whose follow-ups are to be stored. They stay as they are until this transaction ends.
SELECT token FROM penstock.lease WHERE token = ANY (%(tokens)s::bigint[]) AND NOT cancel ORDER BY token FOR UPDATE
