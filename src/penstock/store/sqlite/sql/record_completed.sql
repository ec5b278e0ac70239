-- history = all: the steps of a success, which are otherwise only in its outcome.
INSERT INTO penstock_history (seq, at, event, attempt, session)
SELECT lease.seq, :now, iif(lease.cancel, 'cancel', 'complete'), lease.attempt, lease.session
FROM json_each(:rows) AS done
JOIN penstock_lease AS lease ON lease.token = done.value ->> 0
