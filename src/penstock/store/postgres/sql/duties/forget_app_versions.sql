-- Of workers that are gone, and of whose attempts nothing is kept any more.
DELETE FROM penstock.app_version
WHERE started_at < penstock.moment(%(now)s::bigint) - %(age)s::bigint
    AND NOT EXISTS (SELECT 1 FROM penstock.worker WHERE worker.session = app_version.session)
