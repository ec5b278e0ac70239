-- Pointers of jobs that are under way, have ended or do not exist: what is known elsewhere rules.
DELETE FROM penstock_ready
WHERE seq IN (SELECT seq FROM penstock_lease) OR seq IN (SELECT seq FROM penstock_outcome)
    OR seq NOT IN (SELECT seq FROM penstock_job)
RETURNING coalesce((SELECT id FROM penstock_job AS job WHERE job.seq = penstock_ready.seq), 'number ' || seq)
