INSERT INTO penstock.history (id, at, event, attempt, reason)
SELECT id, penstock.moment(%(now)s::bigint), {RETRIED}, attempt, %(reason)s::text || retried_as
FROM penstock.outcome
WHERE outcome.id = ANY (%(ids)s::uuid[])
