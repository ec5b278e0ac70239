DELETE FROM penstock.workflow
WHERE id IN (SELECT value::uuid FROM json_array_elements_text(%(workflows)s::text::json))
