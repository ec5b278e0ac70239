UPDATE penstock.outcome SET retried_as = link.new_id
FROM unnest(%(old_ids)s::uuid[], %(new_ids)s::uuid[]) AS link (old_id, new_id)
WHERE outcome.id = link.old_id
