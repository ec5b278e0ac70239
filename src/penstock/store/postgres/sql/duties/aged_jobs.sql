-- The oldest of each lane that have waited for so long that they have earned a higher priority. What has waited for
-- too long for that is left to its expiry.
SELECT
    lane.type, lane.queue, lane.capability, lane.resources, lane.lane, row.due_at, row.id::text,
    least(%(top)s::bigint, (moment.us - greatest(row.due_at, 0)) / %(ageing)s::bigint)::integer
FROM penstock.lane
CROSS JOIN (SELECT penstock.moment(%(now)s::bigint) AS us) AS moment
CROSS JOIN LATERAL (
    SELECT due_at, id FROM penstock.waiting
    WHERE waiting.lane = lane.lane
        AND waiting.due_at <= moment.us - %(ageing)s::bigint * greatest(1, least(lane.priority, %(top)s::bigint) + 1)
        AND (waiting.expires_at IS NULL OR waiting.expires_at > moment.us)
    ORDER BY due_at, id
    LIMIT %(limit)s::bigint
) AS row
WHERE lane.priority < %(top)s::bigint
ORDER BY row.due_at, row.id
LIMIT %(limit)s::bigint
