-- After a store was restored under those who use it: an hour ahead of the clock, by which the tokens may have been ahead
-- that were given out since the backup was made. None of them is given out again.
SELECT setval('penstock.token', 3600000000 + greatest(
    nextval('penstock.token'), (extract(epoch FROM clock_timestamp()) * 1000000)::bigint, %(now)s::bigint
))
FROM pg_advisory_xact_lock(hashtext('penstock.token'))
