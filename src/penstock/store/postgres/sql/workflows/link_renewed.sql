-- Dead letters among them were retried by this.
UPDATE penstock.outcome SET retried_as = (row ->> 1)::uuid
FROM json_array_elements(%(rows)s::text::json) AS row
WHERE outcome.id = (row ->> 0)::uuid AND outcome.state IN ({DEAD}, {EXPIRED})
