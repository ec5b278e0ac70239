DELETE FROM penstock.member
WHERE workflow IN (SELECT value::uuid FROM json_array_elements_text(%(workflows)s::text::json))
