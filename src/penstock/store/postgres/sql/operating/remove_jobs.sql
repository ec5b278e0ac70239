-- Ended jobs and all that is kept of them; answers how many there were.
WITH effects AS (DELETE FROM penstock.once WHERE id = ANY (%(ids)s::uuid[])),
tickets AS (DELETE FROM penstock.ticket WHERE id = ANY (%(ids)s::uuid[])),
steps AS (DELETE FROM penstock.history WHERE id = ANY (%(ids)s::uuid[])),
outcomes AS (DELETE FROM penstock.outcome WHERE id = ANY (%(ids)s::uuid[])),
jobs AS (DELETE FROM penstock.job WHERE id = ANY (%(ids)s::uuid[]) RETURNING id)
SELECT count(*) FROM jobs
