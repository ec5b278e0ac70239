-- The first of each line that has not ended, and nothing where there is none.
SELECT given.value, ticket.due_at, ticket.seq, ticket.id
FROM json_each(:names) AS given
LEFT JOIN penstock_ticket AS ticket ON ticket.id = (
    SELECT waiting.id
    FROM penstock_ticket AS waiting
    WHERE waiting.name = given.value
        AND EXISTS (
            SELECT 1 FROM penstock_job AS job
            WHERE job.id = waiting.id
                AND NOT EXISTS (SELECT 1 FROM penstock_outcome AS outcome WHERE outcome.seq = job.seq)
        )
    ORDER BY waiting.due_at, waiting.seq
    LIMIT 1
)
