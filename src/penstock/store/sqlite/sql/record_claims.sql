INSERT INTO penstock_history (seq, at, event, attempt, session)
SELECT seq, claimed_at, 'claim', attempt, session FROM penstock_lease WHERE token > :token
