"""Alerts: what is wrong by which rule, when that fires and is over, and who is to be told. Only reading is not pure."""
