-- With what each of these attempts of a session was ended, in their order, as its outcome says, or the last step of it.
-- What others have ended or taken back is none of that session's.
SELECT coalesce(
    (
        SELECT CASE
            WHEN outcome.state = {COMPLETED} THEN {COMPLETE}
            WHEN outcome.state = {CANCELLED} THEN {CANCEL}
            WHEN outcome.state = {DEAD} AND outcome.decided_by = 'worker' THEN {FAIL}
        END
        FROM penstock_outcome AS outcome
        WHERE outcome.seq = job.seq AND outcome.session = :session AND outcome.attempt = given.value ->> 1
    ),
    (
        SELECT iif(history.event IN ({BACK_OFF}, {SNOOZE}, {RELEASE}), history.event, NULL)
        FROM penstock_history AS history
        WHERE history.seq = job.seq AND history.session = :session AND history.attempt = given.value ->> 1
        ORDER BY history.step DESC
        LIMIT 1
    )
)
FROM json_each(:attempts) AS given
LEFT JOIN penstock_job AS job ON job.id = given.value ->> 0
ORDER BY given.key
