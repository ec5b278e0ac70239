-- When a job that has never been tried expires; NULL for all others.
CREATE OR REPLACE FUNCTION penstock.expiry(attempt integer, due_at bigint, policy text) RETURNS bigint
LANGUAGE sql IMMUTABLE
AS $$ SELECT CASE WHEN attempt = 0 THEN due_at + ((policy::jsonb ->> 'l')::float8 * 1000000)::bigint END $$;
