-- All that ever had a job, or are paused.
SELECT count(*) FROM (
    SELECT queue FROM penstock.lane
    UNION
    SELECT name FROM penstock.pause WHERE kind = 'queue'
) AS known
