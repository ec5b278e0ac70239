-- What is in the rows, but the last page of each book, until that is old.
DELETE FROM penstock_page
WHERE folded = 1 AND (
    at < :now - :age OR book IS NULL
    OR EXISTS (SELECT 1 FROM penstock_page AS later WHERE later.book = penstock_page.book AND later.number >
        penstock_page.number)
)
