-- The final ones, and those that a person cancelled while they ran.
INSERT INTO penstock_outcome (
    seq, state, attempt, session, claimed_at, started_at, finished_at, progress, reason, decided_by, keep
)
SELECT
    lease.seq,
    iif(lease.cancel, {CANCELLED}, row.value ->> 2),
    lease.attempt,
    lease.session,
    lease.claimed_at,
    coalesce(row.value ->> 3, lease.started_at),
    :now,
    coalesce(row.value ->> 13, lease.progress),
    iif(lease.cancel, 'cancelled while it was running', row.value ->> 6),
    iif(lease.cancel, 'operator', row.value ->> 7),
    row.value ->> 11
FROM json_each(:rows) AS row
JOIN penstock_lease AS lease ON lease.token = row.value ->> 0
WHERE ((row.value ->> 1) AND NOT (row.value ->> 12)) OR lease.cancel
ON CONFLICT (seq) DO NOTHING
