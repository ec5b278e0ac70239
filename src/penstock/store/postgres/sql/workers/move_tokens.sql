-- Tokens follow the clock: those of claims that a crash of the server has undone, or a restored backup, are never given
-- out again, nor those of leases that were copied from elsewhere without the sequence. Where the
-- clock is behind, they leap: others take tokens between the two calls here, and none of theirs may come again.
SELECT setval('penstock.token', greatest(
    nextval('penstock.token') + 1000000, (SELECT max(token) + 1000000 FROM penstock.lease WHERE token < 4611686018427387904),
    (extract(epoch FROM clock_timestamp()) * 1000000)::bigint, %(now)s::bigint
))
FROM pg_advisory_xact_lock(hashtext('penstock.token'))
