UPDATE penstock_step SET pending = pending - 1
WHERE workflow = :workflow AND begun = 0
    AND step IN (SELECT need.step FROM penstock_need AS need WHERE need.workflow = :workflow AND need.needed = :needed)
RETURNING step, pending
