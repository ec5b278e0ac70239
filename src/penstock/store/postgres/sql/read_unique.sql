-- Who holds these keys, which are locked: a job for its period, or, without one, while it has not ended.
SELECT held.key, held.id::text,
    CASE
        WHEN held.expires_at IS NOT NULL THEN held.expires_at > penstock.moment(%(now)s::bigint)
        ELSE EXISTS (SELECT 1 FROM penstock.job WHERE job.id = held.id)
            AND NOT EXISTS (SELECT 1 FROM penstock.outcome WHERE outcome.id = held.id)
    END
FROM penstock.unique_key AS held
WHERE held.key = ANY (%(keys)s::text[])
