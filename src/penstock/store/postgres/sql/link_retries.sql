WITH link AS MATERIALIZED (
    SELECT * FROM unnest(%(old_ids)s::uuid[], %(new_ids)s::uuid[]) AS link (old_id, new_id)
),
linked AS (
    UPDATE penstock.outcome SET retried_as = link.new_id
    FROM link
    WHERE outcome.id = link.old_id
    RETURNING outcome.id, outcome.attempt, outcome.retried_as
)
INSERT INTO penstock.history (id, at, event, attempt, reason)
SELECT id, penstock.moment(%(now)s::bigint), 'retried', attempt, %(reason)s::text || retried_as FROM linked
