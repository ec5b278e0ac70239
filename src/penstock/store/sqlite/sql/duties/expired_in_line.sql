-- Which of the jobs that have just expired stood in a line.
SELECT json_group_array(ticket.id)
FROM penstock_ttl AS ttl
JOIN penstock_ticket AS ticket ON ticket.id = ttl.id
JOIN penstock_job AS job ON job.id = ttl.id AND job.due_at = ttl.due_at
JOIN penstock_outcome AS outcome ON outcome.seq = job.seq
WHERE ttl.expires_at <= :now
