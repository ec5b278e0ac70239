WITH locked AS MATERIALIZED (
    SELECT gate FROM penstock.gate WHERE gate = ANY (%(gates)s::bigint[]) ORDER BY gate FOR NO KEY UPDATE
)
UPDATE penstock.gate SET wake_at = penstock.moment(%(now)s::bigint) FROM locked WHERE gate.gate = locked.gate
