INSERT INTO penstock_history (seq, at, event, attempt, reason)
SELECT seq, :now, :event, attempt, :reason FROM penstock_job WHERE seq = :seq
