-- What has ended is counted less often: then what was counted last stays.
INSERT INTO penstock_sample (id, at, took, completed, cancelled, dead, expired)
VALUES (
    1, :at, :took, :completed, :cancelled,
    :dead, :expired
)
ON CONFLICT (id) DO UPDATE SET
    at = excluded.at, took = excluded.took, completed = coalesce(excluded.completed, penstock_sample.completed),
    cancelled = coalesce(excluded.cancelled, penstock_sample.cancelled), dead = coalesce(excluded.dead,
        penstock_sample.dead),
    expired = coalesce(excluded.expired, penstock_sample.expired)
