DELETE FROM penstock.schedule
USING unnest(%(names)s::text[], %(revisions)s::bigint[]) AS old (name, revision)
WHERE schedule.name = old.name AND schedule.revision = old.revision
RETURNING schedule.name
