-- oldest: 9
-- Which type stands for the number of a gate: "" if it was given with one enqueue, NULL if nobody knows.
ALTER TABLE penstock_gate ADD COLUMN declarer TEXT;
-- Which jobs name a gate. A job's own limits come first, at most one at once and one rate.
CREATE INDEX penstock_job_gate ON penstock_job (gates ->> '$[0][0]') WHERE gates IS NOT NULL;
CREATE INDEX penstock_job_other_gate ON penstock_job (gates ->> '$[1][0]')
WHERE gates IS NOT NULL AND gates ->> '$[1][0]' IS NOT NULL;
