-- When to look again: at the moment that is given, when the oldest start no longer counts, or when somebody says so.
-- :wakes is [[gate, moment], …].
UPDATE penstock_gate
SET wake_at = iif(
    EXISTS (SELECT 1 FROM penstock_parked AS parked WHERE parked.gate = penstock_gate.gate),
    coalesce(wake.value ->> 1, (
        SELECT min(permit.at) + penstock_gate.period FROM penstock_permit AS permit
        WHERE permit.gate = penstock_gate.gate
    )),
    NULL
)
FROM json_each(:wakes) AS wake
WHERE penstock_gate.gate = wake.value ->> 0
