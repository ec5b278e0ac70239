-- What was really deleted ends, unless it has ended already or is under way: then its pointer alone was wrong. What has
-- waited for too long is left to its expiry.
WITH moment AS (SELECT penstock.moment(%(now)s::bigint) AS us),
-- Locks no row, but the table, before the snapshot is taken: a pause waits for what is under way.
unpaused AS (SELECT 1 FROM penstock.pause WHERE false FOR KEY SHARE),
picked AS MATERIALIZED (
    SELECT waiting.ctid AS at
    FROM penstock.lane
    JOIN penstock.waiting ON waiting.lane = lane.lane
    CROSS JOIN moment
    WHERE lane.type = %(type)s::text AND lane.queue = %(queue)s::text AND lane.capability = %(capability)s::text
        AND lane.resources = %(resources)s::text AND waiting.due_at <= moment.us
        AND (waiting.expires_at IS NULL OR waiting.expires_at > moment.us)
        AND NOT EXISTS (
            SELECT 1 FROM penstock.pause
            WHERE (pause.kind, pause.name) IN (('queue', lane.queue), ('type', lane.type))
        )
    LIMIT %(limit)s::bigint
    FOR UPDATE OF waiting SKIP LOCKED
),
gone AS (DELETE FROM penstock.waiting WHERE ctid = ANY (ARRAY (SELECT at FROM picked)) RETURNING id),
failed AS MATERIALIZED (
    SELECT id FROM gone
    WHERE (SELECT true FROM penstock.lease WHERE lease.id = gone.id LIMIT 1) IS NULL
        AND (SELECT true FROM penstock.outcome WHERE outcome.id = gone.id LIMIT 1) IS NULL
),
explained AS (
    UPDATE penstock.job SET error = %(error)s::text WHERE id = ANY (ARRAY (SELECT id FROM failed)) RETURNING id, attempt
),
ended AS (
    INSERT INTO penstock.outcome (id, state, attempt, finished_at, reason, decided_by)
    SELECT explained.id, {DEAD}, explained.attempt, moment.us, %(reason)s::text, 'routing' FROM explained CROSS JOIN moment
    ON CONFLICT (id) DO NOTHING
    RETURNING id, attempt, finished_at
),
recorded AS (
    INSERT INTO penstock.history (id, at, event, attempt, reason, error)
    SELECT id, finished_at, {FAIL}, attempt, %(reason)s::text, %(error)s::text FROM ended
)
SELECT gone.id::text, gone.id IN (SELECT ended.id FROM ended) FROM gone
