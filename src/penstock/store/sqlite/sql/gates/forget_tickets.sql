-- What is left in these lines of jobs that have ended.
DELETE FROM penstock_ticket
WHERE (name, due_at, seq) IN (
    SELECT ticket.name, ticket.due_at, ticket.seq
    FROM json_each(:names) AS given
    CROSS JOIN penstock_ticket AS ticket ON ticket.name = given.value AND ticket.due_at <= :now
    LEFT JOIN penstock_job AS job ON job.id = ticket.id
    LEFT JOIN penstock_outcome AS outcome ON outcome.seq = job.seq
    WHERE job.seq IS NULL OR outcome.seq IS NOT NULL
)
