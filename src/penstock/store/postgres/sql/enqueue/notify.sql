-- With notify=off there is no channel.
SELECT pg_notify(%(channel)s::text, pg_current_xact_id()::text) WHERE %(channel)s::text IS NOT NULL
