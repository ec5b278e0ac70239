-- One that is held by somebody else is left for the next time.
DELETE FROM penstock.alert
WHERE (rule, scope) IN (
    SELECT rule, scope FROM penstock.alert
    WHERE resolved_at < penstock.moment(%(now)s::bigint) - %(age)s::bigint
    FOR UPDATE SKIP LOCKED
)
