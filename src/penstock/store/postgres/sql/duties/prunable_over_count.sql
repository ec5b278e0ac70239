-- remove_on_complete = N and remove_on_fail = N: all but the newest N of each type.
SELECT outcome.id::text
FROM penstock.outcome
WHERE outcome.id = ANY (
    ARRAY (
        SELECT placed.id
        FROM (
            SELECT
                outcome.id,
                outcome.keep,
                row_number() OVER (
                    PARTITION BY lane.type, outcome.state ORDER BY outcome.finished_at DESC, outcome.id DESC
                ) AS place
            FROM penstock.outcome
            JOIN penstock.job ON job.id = outcome.id
            JOIN penstock.lane ON lane.lane = job.lane
            WHERE outcome.keep IS NOT NULL
        ) AS placed
        WHERE placed.place > placed.keep
        LIMIT %(limit)s::bigint
    )
)
FOR UPDATE SKIP LOCKED
