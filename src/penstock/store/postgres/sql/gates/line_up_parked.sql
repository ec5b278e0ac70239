SELECT penstock.line_up_parked(%(names)s::text[])::text
