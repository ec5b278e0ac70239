UPDATE penstock_ready SET priority = :raised
WHERE lane = :lane AND priority = :priority AND due_at = :due_at AND seq = :seq
