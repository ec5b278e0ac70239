UPDATE penstock_outcome SET retried_as = link.new_id
FROM (
    SELECT job.seq, fresh.value AS new_id
    FROM json_each(:old_ids) AS old
    JOIN json_each(:new_ids) AS fresh ON fresh.key = old.key
    JOIN penstock_job AS job ON job.id = old.value
) AS link
WHERE penstock_outcome.seq = link.seq
