-- Of workers that are gone, and of whose attempts nothing is kept any more.
DELETE FROM penstock_app_version
WHERE started_at < :now - :age AND session NOT IN (SELECT session FROM penstock_worker)
