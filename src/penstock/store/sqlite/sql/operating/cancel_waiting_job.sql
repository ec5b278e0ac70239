INSERT INTO penstock_outcome (seq, state, attempt, finished_at, reason, decided_by)
SELECT seq, {CANCELLED}, attempt, :now, 'cancelled while it was waiting', 'operator' FROM penstock_job WHERE seq = :seq
ON CONFLICT (seq) DO NOTHING
