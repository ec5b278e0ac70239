-- Once, however often it is sent. Without a book it is an operation's, and always new.
INSERT INTO penstock.page (book, number, at, tally)
VALUES (%(book)s::text, %(number)s::bigint, penstock.moment(%(now)s::bigint), %(tally)s::text)
ON CONFLICT DO NOTHING
