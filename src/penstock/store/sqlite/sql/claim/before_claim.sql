-- All that a claim must know first, in one row.
SELECT
    (SELECT iif(failing, 'failing', status) FROM penstock_worker WHERE session = :session),
    (SELECT min(due_at) FROM penstock_scheduled),
    (SELECT min(expires_at) FROM penstock_ttl),
    (SELECT coalesce(max(lane), 0) FROM penstock_lane),
    (SELECT stamp FROM penstock_lane ORDER BY lane DESC LIMIT 1),
    (SELECT coalesce(max(seq), 0) FROM sqlite_sequence WHERE name = 'penstock_lease'),
    (SELECT number FROM penstock_order_number WHERE id = 1),
    (SELECT min(wake_at) FROM penstock_gate WHERE wake_at IS NOT NULL)
