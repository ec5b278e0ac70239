-- What has ended is counted less often: then what was counted last stays.
INSERT INTO penstock.sample (id, at, took, completed, cancelled, dead, expired)
VALUES (
    1, %(at)s::bigint, %(took)s::bigint, %(completed)s::bigint, %(cancelled)s::bigint,
    %(dead)s::bigint, %(expired)s::bigint
)
ON CONFLICT (id) DO UPDATE SET
    at = excluded.at, took = excluded.took, completed = coalesce(excluded.completed, sample.completed),
    cancelled = coalesce(excluded.cancelled, sample.cancelled), dead = coalesce(excluded.dead, sample.dead),
    expired = coalesce(excluded.expired, sample.expired)
