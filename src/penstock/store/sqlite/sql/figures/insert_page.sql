-- Once, however often it is sent, and however late: pages of a book come in order, and its last one stays. Without a book
-- it is an operation's, and always new.
INSERT INTO penstock_page (book, number, at, tally)
SELECT :book, :number, :now, :tally
WHERE NOT EXISTS (SELECT 1 FROM penstock_page AS known WHERE known.book = :book AND known.number >= :number)
