-- For as many beats as there are in :lasts; `stale_after` is some of them, and the first may come at once.
UPDATE penstock_worker
SET failing = :failing, unreached = :unreached, marked = 1 + (:beats * :lasts + min(stale_after, 1000000000000000)) / max(stale_after, 1)
WHERE session IN (SELECT value FROM json_each(:sessions))
