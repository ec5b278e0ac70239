-- The clock was set back: no gate is closed for longer than its period, and one without a period not at all.
UPDATE penstock_gate SET wake_at = :now WHERE wake_at > :now + coalesce(period, 0)
