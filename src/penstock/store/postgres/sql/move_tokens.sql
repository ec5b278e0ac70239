-- Tokens follow the clock: those of claims that a crash of the server has undone are never given out again. Where the
-- clock is behind, they leap: others take tokens between the two calls here, and none of theirs may come again.
SELECT setval('penstock.token', greatest(
    nextval('penstock.token') + 1000000, (extract(epoch FROM clock_timestamp()) * 1000000)::bigint, %(now)s::bigint
))
FROM pg_advisory_xact_lock(hashtext('penstock.token'))
