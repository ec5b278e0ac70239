-- The clock was set back: no gate is closed for longer than its period.
UPDATE penstock_gate SET wake_at = :now WHERE wake_at > :now + period
