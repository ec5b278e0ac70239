"""Transactions of the caller's: on connections of penstock's and of their own."""
