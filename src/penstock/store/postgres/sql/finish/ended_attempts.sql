-- With what each of these attempts of a session was ended, in their order, as its outcome says, or the last step of it.
-- What others have ended or taken back is none of that session's.
SELECT coalesce(
    (
        SELECT CASE
            WHEN outcome.state = {COMPLETED} THEN {COMPLETE}
            WHEN outcome.state = {CANCELLED} THEN {CANCEL}
            WHEN outcome.state = {DEAD} AND outcome.decided_by = 'worker' THEN {FAIL}
        END
        FROM penstock.outcome
        WHERE outcome.id = given.id AND outcome.session = %(session)s::bigint AND outcome.attempt = given.attempt
    ),
    (
        SELECT CASE WHEN history.event IN ({BACK_OFF}, {SNOOZE}, {RELEASE}) THEN history.event END
        FROM penstock.history
        WHERE history.id = given.id AND history.session = %(session)s::bigint AND history.attempt = given.attempt
        ORDER BY history.step DESC
        LIMIT 1
    )
)
FROM unnest(%(ids)s::uuid[], %(attempts)s::integer[]) WITH ORDINALITY AS given (id, attempt, place)
ORDER BY given.place
