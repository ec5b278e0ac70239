-- For as many beats as there are in `lasts`; `stale_after` is some of them, and the first may come at once.
UPDATE penstock.worker SET
    failing = %(failing)s::boolean, unreached = %(unreached)s::boolean,
    marked = least(1 + (%(beats)s::bigint * %(lasts)s::bigint + least(stale_after, 1000000000000000)) / greatest(stale_after, 1), 1000000)
WHERE session = ANY (%(sessions)s::bigint[])
