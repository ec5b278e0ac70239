-- A page of those that no longer count: one claim never needs more.
DELETE FROM penstock_permit
WHERE gate = :gate AND (at, token) IN (
    SELECT at, token FROM penstock_permit WHERE gate = :gate AND at <= :before ORDER BY at, token LIMIT :limit
)
