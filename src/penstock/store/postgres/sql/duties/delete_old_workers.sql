DELETE FROM penstock.worker
WHERE worker.status IN ('inactive', 'lost')
    AND worker.heartbeat_at < penstock.moment(%(now)s::bigint) - %(age)s::bigint
    AND NOT EXISTS (SELECT 1 FROM penstock.lease WHERE lease.session = worker.session)
