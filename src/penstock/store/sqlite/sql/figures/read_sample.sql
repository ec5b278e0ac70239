SELECT at, took, completed, cancelled, dead, expired FROM penstock_sample
