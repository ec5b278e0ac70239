-- The clock was set back: what seems to lie ahead has been started by now at the latest.
UPDATE penstock_permit SET at = :now WHERE gate = :gate AND at > :now
