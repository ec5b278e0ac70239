SELECT coalesce(max(seq), 0) FROM penstock_job
