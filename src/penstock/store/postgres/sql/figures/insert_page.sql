-- Once, however often it is sent, and however late: pages of a book come in order, and its last one stays. Without a book
-- it is an operation's, and always new.
INSERT INTO penstock.page (book, number, at, tally)
SELECT %(book)s::text, %(number)s::bigint, penstock.moment(%(now)s::bigint), %(tally)s::text
WHERE NOT EXISTS (
    SELECT 1 FROM penstock.page AS known WHERE known.book = %(book)s::text AND known.number >= %(number)s::bigint
)
ON CONFLICT (book, number) DO NOTHING
