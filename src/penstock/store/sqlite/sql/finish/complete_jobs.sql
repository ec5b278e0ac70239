-- :done is {token: started_at, …}: an object, because its keys and values are read without parsing each row again.
-- A job that a person cancelled meanwhile ends cancelled.
INSERT INTO penstock_outcome (
    seq, state, attempt, session, claimed_at, started_at, finished_at, progress, decided_by, keep
)
SELECT
    lease.seq,
    iif(lease.cancel, {CANCELLED}, {COMPLETED}),
    lease.attempt,
    lease.session,
    lease.claimed_at,
    done.value,
    :now,
    lease.progress,
    iif(lease.cancel, 'operator', 'worker'),
    :keep
FROM json_each(:done) AS done
JOIN penstock_lease AS lease ON lease.token = CAST(done.key AS INTEGER)
WHERE lease.cancel OR NOT :remove
ON CONFLICT (seq) DO NOTHING
