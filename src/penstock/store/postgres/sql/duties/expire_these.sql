-- Jobs that have waited for longer than their time-to-live end, unless a claim was faster, which this waits for. Answers
-- which have, and whether they stood in a line.
WITH moment AS (SELECT penstock.moment(%(now)s::bigint) AS us),
unlined AS (
    DELETE FROM penstock.waiting
    USING penstock.job
    WHERE job.id = ANY (%(ids)s::uuid[])
        AND waiting.lane = job.lane AND waiting.due_at = job.due_at AND waiting.id = job.id
        AND waiting.expires_at <= penstock.moment(%(now)s::bigint)
    RETURNING waiting.id
),
unparked AS (
    DELETE FROM penstock.parked
    WHERE id = ANY (%(ids)s::uuid[]) AND expires_at <= penstock.moment(%(now)s::bigint)
    RETURNING id
),
expired AS (
    INSERT INTO penstock.outcome (id, state, attempt, finished_at, reason, decided_by)
    SELECT gone.id, {EXPIRED}, 0, moment.us, %(reason)s::text, 'ttl'
    FROM (SELECT id FROM unlined UNION ALL SELECT id FROM unparked) AS gone
    CROSS JOIN moment
    ON CONFLICT (id) DO NOTHING
    RETURNING id, finished_at
),
recorded AS (
    INSERT INTO penstock.history (id, at, event, attempt, reason)
    SELECT id, finished_at, {EXPIRE}, 0, %(reason)s::text FROM expired
)
SELECT expired.id::text, EXISTS (SELECT 1 FROM penstock.ticket WHERE ticket.id = expired.id) FROM expired
