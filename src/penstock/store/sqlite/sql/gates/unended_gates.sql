-- The gates of the newest job before :last_job that names each of these and has not ended. Of each it looks at the 100
-- newest jobs. A job's own limits come first, at most one at once and one rate; each place has its index.
SELECT given.value, (
    SELECT recent.gates
    FROM (
        SELECT * FROM (
            SELECT seq, gates FROM penstock_job
            WHERE gates IS NOT NULL AND gates ->> '$[0][0]' = given.value AND seq <= :last_job
            ORDER BY seq DESC LIMIT 100
        )
        UNION ALL
        SELECT * FROM (
            SELECT seq, gates FROM penstock_job
            WHERE gates IS NOT NULL AND gates ->> '$[1][0]' = given.value AND seq <= :last_job
            ORDER BY seq DESC LIMIT 100
        )
    ) AS recent
    WHERE NOT EXISTS (SELECT 1 FROM penstock_outcome AS outcome WHERE outcome.seq = recent.seq)
    ORDER BY recent.seq DESC
    LIMIT 1
)
FROM json_each(:names) AS given
