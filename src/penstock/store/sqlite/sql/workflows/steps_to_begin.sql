SELECT step FROM penstock_step WHERE workflow = :id AND begun = 0 AND pending = 0
