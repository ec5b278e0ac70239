-- The workflows of these jobs, in order.
SELECT id FROM penstock.workflow
WHERE id IN (SELECT member.workflow FROM penstock.member WHERE member.id = ANY (%(ids)s::uuid[]))
ORDER BY id
FOR UPDATE
