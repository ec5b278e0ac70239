-- Attempts that ended without success: those to be tried again go back to waiting, the others end.
WITH moment AS (SELECT penstock.moment(%(now)s::bigint) AS us),
row AS MATERIALIZED (
    SELECT
        given.*, lease.id, lease.attempt, lease.session, lease.claimed_at, lease.cancel,
        lease.progress AS last_progress, lease.started_at AS lease_started_at,
        given.final OR lease.cancel AS ends, given.final AND given.remove AND NOT lease.cancel AS removed,
        (given.event = {SNOOZE} AND NOT lease.cancel)::integer AS snoozed
    FROM unnest(
        %(tokens)s::bigint[], %(finals)s::boolean[], %(states)s::smallint[], %(started)s::bigint[],
        %(delays)s::bigint[], %(errors)s::text[], %(reasons)s::text[], %(deciders)s::text[], %(backs)s::integer[],
        %(crashes)s::integer[], %(events)s::text[], %(keeps)s::integer[], %(removes)s::boolean[], %(progress)s::text[],
        %(elsewhere)s::boolean[]
    ) AS given (
        token, final, state, started_at, delay, error, reason, decided_by, give_back, crash, event, keep, remove,
        progress, elsewhere
    )
    CROSS JOIN LATERAL (
        SELECT id, attempt, session, claimed_at, started_at, progress, cancel
        FROM penstock.lease WHERE lease.token = given.token LIMIT 1 FOR UPDATE
    ) AS lease
),
gone AS (DELETE FROM penstock.lease WHERE token = ANY (ARRAY (SELECT token FROM row))),
recorded AS (
    INSERT INTO penstock.history (id, at, event, attempt, session, reason, error)
    SELECT id, moment.us, CASE WHEN cancel THEN {CANCEL} ELSE event END, attempt, session, reason, error
    FROM row CROSS JOIN moment
    WHERE %(record)s::boolean AND NOT removed
),
unsaid AS (DELETE FROM penstock.once WHERE id = ANY (ARRAY (SELECT id FROM row WHERE removed))),
forgotten AS (DELETE FROM penstock.history WHERE id = ANY (ARRAY (SELECT id FROM row WHERE removed))),
deleted AS (DELETE FROM penstock.job WHERE id = ANY (ARRAY (SELECT id FROM row WHERE removed))),
changed AS (
    UPDATE penstock.job
    SET
        attempt = row.attempt - CASE WHEN row.ends THEN 0 ELSE row.give_back END,
        crashes = least(job.crashes, 2147483646) + row.crash,
        snoozes = nullif(least(coalesce(job.snoozes, 0), 2147483646) + row.snoozed, 0),
        due_at = CASE WHEN row.ends THEN job.due_at ELSE moment.us + row.delay END,
        error = coalesce(row.error, job.error)
    FROM row CROSS JOIN moment
    WHERE job.id = row.id AND NOT row.removed
    RETURNING job.id, job.lane, job.due_at, row.ends, CASE WHEN row.elsewhere THEN row.session END AS avoid,
        job.org
),
returned AS (
    INSERT INTO penstock.waiting (lane, due_at, id, avoid, org)
    SELECT lane, due_at, id, avoid, org FROM changed WHERE NOT ends
),
ended AS (
    INSERT INTO penstock.outcome (
        id, state, attempt, session, claimed_at, started_at, finished_at, progress, reason, decided_by, keep
    )
    SELECT
        id, CASE WHEN cancel THEN {CANCELLED} ELSE state END, attempt, session, claimed_at,
        coalesce(started_at, lease_started_at), moment.us, coalesce(progress, last_progress),
        CASE WHEN cancel THEN 'cancelled while it was running' ELSE reason END,
        CASE WHEN cancel THEN 'operator' ELSE decided_by END, keep
    FROM row CROSS JOIN moment
    WHERE ends AND NOT removed
    ON CONFLICT (id) DO NOTHING -- What has ended stays as it ended, and one lease too many holds nobody up.
)
SELECT
    array_agg(token), EXISTS (SELECT 1 FROM penstock.hold WHERE token = ANY (%(tokens)s::bigint[])),
    array_agg(token) FILTER (WHERE cancel AND event <> {CANCEL}),
    (
        SELECT pg_notify(%(channel)s::text, pg_current_xact_id()::text)
        WHERE %(channel)s::text IS NOT NULL AND EXISTS (SELECT 1 FROM changed WHERE NOT ends)
    )::text
FROM row
