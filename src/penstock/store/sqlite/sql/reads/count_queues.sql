-- All that ever had a job, or are paused.
SELECT count(*) FROM (
    SELECT queue FROM penstock_lane
    UNION
    SELECT name FROM penstock_pause WHERE kind = 'queue'
)
