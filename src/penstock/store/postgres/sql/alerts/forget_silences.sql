-- One that is held by somebody else is left for the next time.
DELETE FROM penstock.silence
WHERE (rule, scope) IN (
    SELECT rule, scope FROM penstock.silence
    WHERE until < penstock.moment(%(now)s::bigint) - %(age)s::bigint
    FOR UPDATE SKIP LOCKED
)
