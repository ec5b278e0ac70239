SELECT key, value FROM penstock.meta
