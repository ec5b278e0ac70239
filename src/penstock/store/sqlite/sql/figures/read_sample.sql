SELECT at, seconds, completed, cancelled, dead, expired FROM penstock_sample
