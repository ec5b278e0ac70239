-- Ended jobs and all that is kept of them; answers how many there were.
WITH steps AS (DELETE FROM penstock.history WHERE id = ANY (%(ids)s::uuid[])),
outcomes AS (DELETE FROM penstock.outcome WHERE id = ANY (%(ids)s::uuid[])),
jobs AS (DELETE FROM penstock.job WHERE id = ANY (%(ids)s::uuid[]) RETURNING id)
SELECT count(*) FROM jobs
