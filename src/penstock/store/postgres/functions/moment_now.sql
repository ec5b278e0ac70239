-- The moment that decides once locks are held: one that was taken before may be older than what others did meanwhile.
CREATE OR REPLACE FUNCTION penstock.moment_now(given bigint) RETURNS bigint
LANGUAGE sql VOLATILE
AS $$ SELECT coalesce(given, (extract(epoch FROM clock_timestamp()) * 1000000)::bigint) $$;
