-- A page of dead letters and how many match in all; one row without an id when the page is empty. What matches is
-- filled in by pages.py from fixed texts.
WITH matching AS MATERIALIZED (SELECT outcome.id, outcome.finished_at {matching})
SELECT page.id, page.finished_at, found.total
FROM (SELECT count(*) AS total FROM matching) AS found
LEFT JOIN (
    SELECT id, finished_at FROM matching
    ORDER BY finished_at DESC, id DESC
    LIMIT %(limit)s::bigint OFFSET %(offset)s::bigint
) AS page ON true
