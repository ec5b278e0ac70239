UPDATE penstock_step SET open = open - :ended, failed = failed + :failed
WHERE workflow = :workflow AND step = :step
RETURNING open, on_failure
