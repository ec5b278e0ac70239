-- The gates of the newest job that names each of these and has not ended. Of each it looks at the 100 newest jobs. A
-- job's own limits come first, at most one at once and one rate; each place has its index.
SELECT given.name, newest.gates
FROM unnest(%(names)s::text[]) AS given (name)
CROSS JOIN LATERAL (
    SELECT recent.gates
    FROM (
        (
            SELECT id, gates FROM penstock.job
            WHERE gates IS NOT NULL AND gates::jsonb -> 0 ->> 0 = given.name
            ORDER BY gates::jsonb -> 0 ->> 0 DESC, id DESC LIMIT 100
        )
        UNION ALL
        (
            SELECT id, gates FROM penstock.job
            WHERE gates IS NOT NULL AND gates::jsonb -> 1 ->> 0 = given.name
            ORDER BY gates::jsonb -> 1 ->> 0 DESC, id DESC LIMIT 100
        )
    ) AS recent
    WHERE NOT EXISTS (SELECT 1 FROM penstock.outcome WHERE outcome.id = recent.id)
    ORDER BY recent.id DESC
    LIMIT 1
) AS newest
