-- Whether anything was put into waiting since the snapshot, or somebody is asked to stop; and the number of the newest
-- order to queues and workers.
SELECT
    pg_current_snapshot()::text,
    EXISTS (SELECT 1 FROM penstock.waiting WHERE xid >= %(upto)s::text::xid8)
    OR EXISTS (SELECT 1 FROM penstock.waiting WHERE xid = ANY (%(open)s::text[]::xid8[]))
    OR EXISTS (SELECT 1 FROM penstock.lease WHERE cancel),
    (SELECT number FROM penstock.order_number)
