-- :places is [[name, due_at, seq], …]: whoever stood before these in their lines has ended.
DELETE FROM penstock_ticket
WHERE (name, due_at, seq) IN (
    SELECT ticket.name, ticket.due_at, ticket.seq
    FROM json_each(:places) AS place
    CROSS JOIN penstock_ticket AS ticket
        ON ticket.name = place.value ->> 0
        AND (ticket.due_at, ticket.seq) < (place.value ->> 1, place.value ->> 2)
)
