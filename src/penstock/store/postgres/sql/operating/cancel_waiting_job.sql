-- Answers whether its moment was still to come; nothing if a claim was faster, which this waits for.
WITH moment AS (SELECT penstock.moment(%(now)s::bigint) AS us),
unlined AS (
    DELETE FROM penstock.waiting
    WHERE lane = %(lane)s::integer AND due_at = %(due_at)s::bigint AND id = %(id)s::uuid
    RETURNING id, due_at
),
unparked AS (DELETE FROM penstock.parked WHERE id = %(id)s::uuid RETURNING id, due_at),
gone AS (SELECT id, due_at FROM unlined UNION ALL SELECT id, due_at FROM unparked),
ended AS (
    INSERT INTO penstock.outcome (id, state, attempt, finished_at, reason, decided_by)
    SELECT job.id, {CANCELLED}, job.attempt, moment.us, 'cancelled while it was waiting', 'operator'
    FROM gone
    JOIN penstock.job ON job.id = gone.id
    CROSS JOIN moment
    ON CONFLICT (id) DO NOTHING
    RETURNING id, attempt, finished_at
),
recorded AS (
    INSERT INTO penstock.history (id, at, event, attempt, reason)
    SELECT id, finished_at, {CANCEL}, attempt, %(reason)s::text FROM ended
)
SELECT gone.due_at > moment.us FROM gone CROSS JOIN moment
