DELETE FROM penstock_pause WHERE kind = :kind AND name = :name
