-- When to look again: at :now if that is given, when the oldest start no longer counts, or when somebody says so.
UPDATE penstock_gate
SET wake_at = iif(
    EXISTS (SELECT 1 FROM penstock_parked AS parked WHERE parked.gate = penstock_gate.gate),
    coalesce(:now, (
        SELECT min(permit.at) + penstock_gate.period FROM penstock_permit AS permit
        WHERE permit.gate = penstock_gate.gate
    )),
    NULL
)
WHERE gate = :gate
