-- Numbers go on after the highest that are stored, also where rows were copied without the sequences that gave them.
SELECT penstock.catch_up()::text
