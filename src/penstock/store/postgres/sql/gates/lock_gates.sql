-- Against being forgotten until the end of this transaction.
SELECT gate FROM penstock.gate WHERE gate = ANY (%(gates)s::bigint[]) ORDER BY gate FOR KEY SHARE
