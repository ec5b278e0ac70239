-- What has ended is counted less often: then what was counted last stays.
INSERT INTO penstock_sample (id, at, seconds, completed, cancelled, dead, expired)
VALUES (
    1, :at, :seconds, :completed, :cancelled,
    :dead, :expired
)
ON CONFLICT (id) DO UPDATE SET
    at = excluded.at, seconds = excluded.seconds, completed = coalesce(excluded.completed, penstock_sample.completed),
    cancelled = coalesce(excluded.cancelled, penstock_sample.cancelled), dead = coalesce(excluded.dead,
        penstock_sample.dead),
    expired = coalesce(excluded.expired, penstock_sample.expired)
