-- For this transaction: while it waits for a lock, others queue up behind it.
SELECT set_config('lock_timeout', %(ms)s::text, true)
