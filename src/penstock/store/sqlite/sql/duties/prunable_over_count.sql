-- remove_on_complete = N and remove_on_fail = N: all but the newest N of each type.
SELECT id
FROM (
    SELECT
        job.id,
        outcome.keep,
        row_number() OVER (
            PARTITION BY lane.type, outcome.state ORDER BY outcome.finished_at DESC, outcome.seq DESC
        ) AS place
    FROM penstock_outcome AS outcome
    JOIN penstock_job AS job ON job.seq = outcome.seq
    JOIN penstock_lane AS lane ON lane.lane = job.lane
    WHERE outcome.keep IS NOT NULL
)
WHERE place > keep
LIMIT :limit
