-- Locked until the duty is stored: the next leader takes over after it, or it is refused.
SELECT 1 FROM penstock.leader WHERE term = %(term)s::bigint FOR SHARE
