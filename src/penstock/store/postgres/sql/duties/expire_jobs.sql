-- What was really deleted ends, unless it has ended already or is under way: then the pointer alone was wrong, and is gone.
-- Answers how many of a page there were, those that expired and those of them in a line, and those whose pointer was wrong.
WITH moment AS (SELECT penstock.moment(%(now)s::bigint) AS us),
overdue AS MATERIALIZED (
    SELECT ctid AS at FROM penstock.waiting
    WHERE expires_at <= penstock.moment(%(now)s::bigint)
    ORDER BY expires_at
    LIMIT 1000
    FOR UPDATE SKIP LOCKED
),
blocked AS MATERIALIZED (
    SELECT ctid AS at FROM penstock.parked
    WHERE expires_at <= penstock.moment(%(now)s::bigint)
    ORDER BY expires_at
    LIMIT 1000
    FOR UPDATE SKIP LOCKED
),
unparked AS (DELETE FROM penstock.parked WHERE ctid = ANY (ARRAY (SELECT at FROM blocked)) RETURNING id),
unlined AS (DELETE FROM penstock.waiting WHERE ctid = ANY (ARRAY (SELECT at FROM overdue)) RETURNING id),
gone AS MATERIALIZED (SELECT id FROM unlined UNION ALL SELECT id FROM unparked),
expired AS (
    INSERT INTO penstock.outcome (id, state, attempt, finished_at, reason, decided_by)
    SELECT gone.id, {EXPIRED}, 0, moment.us, %(reason)s::text, 'ttl'
    FROM gone
    CROSS JOIN moment
    WHERE (SELECT true FROM penstock.job WHERE job.id = gone.id LIMIT 1)
        AND (SELECT true FROM penstock.lease WHERE lease.id = gone.id LIMIT 1) IS NULL
    ON CONFLICT (id) DO NOTHING
    RETURNING id, finished_at
),
recorded AS (
    INSERT INTO penstock.history (id, at, event, attempt, reason)
    SELECT id, finished_at, {EXPIRE}, 0, %(reason)s::text FROM expired
),
-- In a claim, which is no transaction beyond this, they are counted here: as a page of figures says it.
ended AS (
    SELECT lane.type, lane.queue, lane.capability, job.org
    FROM expired
    CROSS JOIN LATERAL (SELECT * FROM penstock.job WHERE job.id = expired.id LIMIT 1) AS job
    JOIN penstock.lane ON lane.lane = job.lane
    WHERE %(counts)s::boolean
),
counted AS (
    INSERT INTO penstock.page (number, at, tally)
    SELECT 1, moment.us, jsonb_build_array(
        (
            SELECT jsonb_agg(jsonb_build_array(
                type, queue, capability,
                jsonb_build_array(jsonb_build_object('expired', jobs), 0, nothing, nothing, nothing, nothing, 0)
            ))
            FROM (
                SELECT type, queue, capability, '{}'::jsonb AS nothing, count(*) AS jobs FROM ended GROUP BY 1, 2, 3
            ) AS route
        ),
        (
            SELECT coalesce(jsonb_object_agg(org, jsonb_build_array(0, jobs, 0)), '{}'::jsonb)
            FROM (SELECT org, count(*) AS jobs FROM ended WHERE org IS NOT NULL GROUP BY 1) AS tenant
        )
    )::text
    FROM moment
    WHERE EXISTS (SELECT 1 FROM ended)
)
SELECT
    greatest((SELECT count(*) FROM unlined), (SELECT count(*) FROM unparked)),
    ARRAY (SELECT id::text FROM expired),
    ARRAY (SELECT ticket.id::text FROM penstock.ticket WHERE ticket.id IN (SELECT id FROM expired)),
    ARRAY (SELECT id::text FROM gone WHERE id NOT IN (SELECT expired.id FROM expired))
