INSERT INTO penstock_history (seq, at, event, attempt, session, reason, error)
SELECT lease.seq, :now, iif(lease.cancel, {CANCEL}, row.value ->> 10), lease.attempt, lease.session, row.value ->> 6, row.value ->> 5
FROM json_each(:rows) AS row
JOIN penstock_lease AS lease ON lease.token = row.value ->> 0
