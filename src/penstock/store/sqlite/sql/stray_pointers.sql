-- How many pointers of waiting jobs lead to no job or name another lane than it, and the first of them.
SELECT count(*), min(pointer.place || ' ' || pointer.seq)
FROM (
    SELECT 'ready' AS place, lane, seq FROM penstock_ready
    UNION ALL
    SELECT 'parked', lane, seq FROM penstock_parked
    UNION ALL
    SELECT 'scheduled', NULL, seq FROM penstock_scheduled
) AS pointer
LEFT JOIN penstock_job AS job ON job.seq = pointer.seq
WHERE job.seq IS NULL OR pointer.lane <> job.lane
