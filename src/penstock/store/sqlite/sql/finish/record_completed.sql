-- history = all: the steps of a success, which are otherwise only in its outcome.
INSERT INTO penstock_history (seq, at, event, attempt, session)
SELECT lease.seq, lease.claimed_at, {CLAIM}, lease.attempt, lease.session
FROM json_each(:done) AS done
JOIN penstock_lease AS lease ON lease.token = CAST(done.key AS INTEGER)
UNION ALL
SELECT lease.seq, done.value, {START}, lease.attempt, lease.session
FROM json_each(:done) AS done
JOIN penstock_lease AS lease ON lease.token = CAST(done.key AS INTEGER)
UNION ALL
SELECT lease.seq, :now, iif(lease.cancel, {CANCEL}, {COMPLETE}), lease.attempt, lease.session
FROM json_each(:done) AS done
JOIN penstock_lease AS lease ON lease.token = CAST(done.key AS INTEGER)
