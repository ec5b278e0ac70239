-- Jobs that this transaction has stored: those that are due end, wherever they wait.
WITH moment AS (SELECT penstock.moment(%(now)s::bigint) AS us),
new AS MATERIALIZED (
    SELECT job.id, job.lane, job.due_at
    FROM penstock.job CROSS JOIN moment
    WHERE job.id = ANY (%(ids)s::uuid[]) AND job.due_at <= moment.us
),
gone AS (
    DELETE FROM penstock.waiting USING new
    WHERE waiting.lane = new.lane AND waiting.due_at = new.due_at AND waiting.id = new.id
    RETURNING waiting.id
),
unparked AS (DELETE FROM penstock.parked USING new WHERE parked.id = new.id RETURNING parked.id),
explained AS (
    UPDATE penstock.job SET error = %(error)s::text
    WHERE id = ANY (ARRAY (SELECT id FROM gone UNION ALL SELECT id FROM unparked))
    RETURNING id, attempt
),
ended AS (
    INSERT INTO penstock.outcome (id, state, attempt, finished_at, reason, decided_by)
    SELECT explained.id, {DEAD}, explained.attempt, moment.us, %(reason)s::text, 'routing' FROM explained CROSS JOIN moment
),
recorded AS (
    INSERT INTO penstock.history (id, at, event, attempt, reason, error)
    SELECT explained.id, moment.us, {FAIL}, explained.attempt, %(reason)s::text, %(error)s::text
    FROM explained CROSS JOIN moment
)
SELECT id::text FROM explained
