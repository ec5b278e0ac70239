UPDATE penstock.order_number SET number = number + 1
