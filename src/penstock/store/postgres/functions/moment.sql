-- The moment that decides: the one that is given (by a test that moves its own clock), else the server's.
CREATE OR REPLACE FUNCTION penstock.moment(given bigint) RETURNS bigint
LANGUAGE sql STABLE
AS $$ SELECT coalesce(given, (extract(epoch FROM statement_timestamp()) * 1000000)::bigint) $$;
