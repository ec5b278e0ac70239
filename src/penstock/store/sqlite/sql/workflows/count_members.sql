SELECT
    member.step,
    CASE
        WHEN member.released = 0 THEN {BLOCKED}
        WHEN coalesce(member.state, outcome.state) IS NOT NULL THEN NULL
        WHEN lease.started_at IS NOT NULL THEN {RUNNING}
        WHEN lease.token IS NOT NULL THEN {CLAIMED}
        WHEN parked.seq IS NOT NULL THEN {BLOCKED}
        WHEN job.due_at > :now THEN {SCHEDULED}
        ELSE {PENDING}
    END AS state,
    iif(member.released, coalesce(member.state, outcome.state), NULL) AS code,
    count(*)
FROM penstock_member AS member
LEFT JOIN penstock_job AS job ON job.id = member.id
LEFT JOIN penstock_lease AS lease ON lease.seq = job.seq
LEFT JOIN penstock_outcome AS outcome ON outcome.seq = job.seq
LEFT JOIN penstock_parked AS parked ON parked.seq = job.seq
WHERE member.workflow = :workflow
GROUP BY 1, 2, 3
