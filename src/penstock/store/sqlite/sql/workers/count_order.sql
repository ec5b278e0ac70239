-- A number that was never there before: whoever has cached what is paused knows by it when to look again.
UPDATE penstock_order_number SET number = random() / 2 WHERE id = 1
