-- What is in the rows, but the last page of each book, until that is old.
DELETE FROM penstock.page
WHERE folded AND (
    at < penstock.moment(%(now)s::bigint) - %(age)s::bigint OR book IS NULL
    OR EXISTS (SELECT 1 FROM penstock.page AS later WHERE later.book = page.book AND later.number > page.number)
)
