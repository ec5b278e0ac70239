-- :details is {token: [result, progress], …}, for the jobs that said anything. A cancelled one's result is ignored.
UPDATE penstock_outcome
SET result = said.result, progress = coalesce(said.progress, penstock_outcome.progress)
FROM (
    SELECT lease.seq, iif(lease.cancel, NULL, detail.value ->> 0) AS result, detail.value ->> 1 AS progress
    FROM json_each(:details) AS detail
    JOIN penstock_lease AS lease ON lease.token = CAST(detail.key AS INTEGER)
) AS said
WHERE penstock_outcome.seq = said.seq
