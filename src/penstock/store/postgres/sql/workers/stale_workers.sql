-- Those that are overdue by the clock, or those of `sessions` that were not heard of since the moment in `beats`; and
-- those that have ended and still hold something. One that another recovers is left to it.
SELECT session, id FROM penstock.worker
WHERE (
    status IN ('active', 'draining')
    AND CASE
        WHEN %(sessions)s::bigint[] IS NULL
            THEN heartbeat_at < penstock.moment(%(now)s::bigint) - greatest(%(stale_after)s::bigint, stale_after)
        ELSE (session, heartbeat_at) IN (SELECT * FROM unnest(%(sessions)s::bigint[], %(beats)s::bigint[]))
    END
)
    OR (status IN ('inactive', 'lost') AND session = ANY (ARRAY (SELECT DISTINCT lease.session FROM penstock.lease)))
ORDER BY session
FOR UPDATE SKIP LOCKED
