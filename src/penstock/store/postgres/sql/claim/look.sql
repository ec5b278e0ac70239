-- Whether anything was put into waiting since the snapshot, or somebody is asked to stop; and the number of the newest
-- order to queues and workers. What is not committed, and what came from another server, is not looked at (claim_jobs).
SELECT
    pg_current_snapshot()::text,
    EXISTS (
        SELECT 1 FROM penstock.waiting
        WHERE xid >= %(upto)s::text::xid8 AND xid < pg_snapshot_xmax(pg_current_snapshot())
    )
    OR EXISTS (
        SELECT 1 FROM penstock.waiting
        WHERE xid = ANY (ARRAY (
            SELECT open.xid FROM unnest(%(open)s::text[]::xid8[]) AS open (xid)
            WHERE pg_visible_in_snapshot(open.xid, pg_current_snapshot())
        ))
    )
    OR EXISTS (SELECT 1 FROM penstock.lease WHERE cancel),
    (SELECT number FROM penstock.order_number WHERE id = 1)
