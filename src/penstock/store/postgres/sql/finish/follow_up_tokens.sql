-- The leases whose follow-ups are to be stored, unless they were cancelled. They stay as they are until this transaction
-- ends.
SELECT token, cancel FROM penstock.lease WHERE token = ANY (%(tokens)s::bigint[]) ORDER BY token FOR UPDATE
