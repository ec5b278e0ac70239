-- The tokens that are still current, and whether a person asked their attempt to stop.
SELECT token, cancel FROM penstock.lease WHERE token = ANY (%(tokens)s::bigint[])
