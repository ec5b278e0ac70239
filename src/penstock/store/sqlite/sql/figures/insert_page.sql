-- Once, however often it is sent. Without a book it is an operation's, and always new.
INSERT INTO penstock_page (book, number, at, tally)
VALUES (:book, :number, :now, :tally)
ON CONFLICT DO NOTHING
