-- What is paused, and the number of the order that this is true of.
SELECT
    order_number.number,
    ARRAY (SELECT name FROM penstock.pause WHERE kind = 'queue'),
    ARRAY (SELECT name FROM penstock.pause WHERE kind = 'type')
FROM penstock.order_number
