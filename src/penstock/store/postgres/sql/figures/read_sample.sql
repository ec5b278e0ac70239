SELECT at, seconds, completed, cancelled, dead, expired FROM penstock.sample
