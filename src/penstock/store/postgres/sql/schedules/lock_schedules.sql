-- In one order, so that no two who change several wait for each other.
SELECT 1 FROM penstock.schedule WHERE name = ANY (%(names)s::text[]) ORDER BY name FOR UPDATE
