UPDATE penstock_order_number SET number = number + 1
