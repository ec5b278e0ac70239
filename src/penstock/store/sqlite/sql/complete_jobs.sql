-- :rows is [[token, started_at, result, progress, keep], …]. A job that a person cancelled meanwhile ends cancelled.
INSERT INTO penstock_outcome (
    seq, state, attempt, session, claimed_at, started_at, finished_at, result, progress, decided_by, keep
)
SELECT
    lease.seq,
    iif(lease.cancel, :cancelled, :completed),
    lease.attempt,
    lease.session,
    lease.claimed_at,
    done.value ->> 1,
    :now,
    iif(lease.cancel, NULL, done.value ->> 2),
    coalesce(done.value ->> 3, lease.progress),
    iif(lease.cancel, 'operator', 'worker'),
    :keep
FROM json_each(:rows) AS done
JOIN penstock_lease AS lease ON lease.token = done.value ->> 0
WHERE lease.cancel OR NOT :remove
