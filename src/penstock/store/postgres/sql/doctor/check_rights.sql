-- Which of the rights that penstock needs this role does not have, and on what is not even there. By the catalogue,
-- since naming a table of a schema that one may not look into is an error.
WITH place AS (SELECT to_regnamespace(split_part('penstock.meta', '.', 1)) AS schema)
SELECT wanted.name, wanted.privilege, class.oid IS NOT NULL
FROM place
CROSS JOIN unnest(%(names)s::text[], %(privileges)s::text[]) AS wanted (name, privilege)
LEFT JOIN pg_catalog.pg_class AS class ON class.relnamespace = place.schema AND class.relname = wanted.name
WHERE place.schema IS NULL OR NOT has_schema_privilege(place.schema, 'USAGE') OR class.oid IS NULL
    OR NOT CASE
        WHEN class.relkind = 'S' THEN has_sequence_privilege(class.oid, wanted.privilege)
        ELSE has_table_privilege(class.oid, wanted.privilege)
    END
ORDER BY wanted.name, wanted.privilege
