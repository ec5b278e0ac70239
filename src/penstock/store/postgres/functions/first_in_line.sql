-- The first in line that has not ended, asked while the gate is locked. Whoever stood before it is forgotten.
CREATE OR REPLACE FUNCTION penstock.first_in_line(line text) RETURNS uuid
LANGUAGE plpgsql
AS $$
DECLARE
    head record;
BEGIN
    LOOP
        SELECT ticket.due_at, ticket.number, ticket.id INTO head FROM penstock.ticket
        WHERE ticket.name = line ORDER BY ticket.due_at, ticket.number LIMIT 1;
        EXIT WHEN NOT FOUND;
        EXIT WHEN EXISTS (SELECT 1 FROM penstock.job WHERE job.id = head.id)
            AND NOT EXISTS (SELECT 1 FROM penstock.outcome WHERE outcome.id = head.id);
        DELETE FROM penstock.ticket
        WHERE ticket.name = line AND ticket.due_at = head.due_at AND ticket.number = head.number;
    END LOOP;
    RETURN head.id;
END
$$;
