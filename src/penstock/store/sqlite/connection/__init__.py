"""The file: opening it, writing to it in turn, what is wrong with it."""
