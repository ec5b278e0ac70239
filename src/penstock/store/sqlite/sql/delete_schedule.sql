DELETE FROM penstock_schedule WHERE name = :name AND revision = :before
