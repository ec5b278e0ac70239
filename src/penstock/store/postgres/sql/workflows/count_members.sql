SELECT member.step, told.state, told.code, count(*)
FROM penstock.member
LEFT JOIN penstock.job ON job.id = member.id
LEFT JOIN penstock.lease ON lease.id = member.id
LEFT JOIN penstock.outcome ON outcome.id = member.id
LEFT JOIN penstock.parked ON parked.id = member.id
CROSS JOIN LATERAL (
    SELECT
        CASE WHEN member.released THEN coalesce(member.state, outcome.state) END AS code,
        CASE
            WHEN NOT member.released THEN {BLOCKED}
            WHEN coalesce(member.state, outcome.state) IS NOT NULL THEN NULL
            WHEN lease.started_at IS NOT NULL THEN {RUNNING}
            WHEN lease.token IS NOT NULL THEN {CLAIMED}
            WHEN parked.id IS NOT NULL THEN {BLOCKED}
            WHEN job.due_at > penstock.moment(%(now)s::bigint) THEN {SCHEDULED}
            ELSE {PENDING}
        END AS state
) AS told
WHERE member.workflow = %(workflow)s::uuid
GROUP BY 1, 2, 3
