-- Keys whose period is over, and those without one whose job is gone; not one that was taken anew meanwhile.
DELETE FROM penstock.unique_key AS held
USING (
    SELECT key, id FROM penstock.unique_key WHERE expires_at <= penstock.moment(%(now)s::bigint)
    UNION ALL
    SELECT key, id FROM penstock.unique_key AS open
    WHERE expires_at IS NULL AND NOT EXISTS (SELECT 1 FROM penstock.job WHERE job.id = open.id)
) AS free
WHERE held.key = free.key AND held.id = free.id
    AND (held.expires_at IS NULL OR held.expires_at <= penstock.moment(%(now)s::bigint))
