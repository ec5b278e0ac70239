UPDATE penstock.step SET pending = pending - 1
WHERE workflow = %(workflow)s::uuid AND NOT begun
    AND step IN (
        SELECT need.step FROM penstock.need
        WHERE need.workflow = %(workflow)s::uuid AND need.needed = %(needed)s::integer
    )
RETURNING step, pending
