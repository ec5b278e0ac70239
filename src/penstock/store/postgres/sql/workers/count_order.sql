UPDATE penstock.order_number SET number = number + 1 WHERE id = 1
