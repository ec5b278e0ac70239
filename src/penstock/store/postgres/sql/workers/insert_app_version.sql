INSERT INTO penstock.app_version (session, version, started_at)
VALUES (%(session)s::bigint, %(version)s::text, penstock.moment(%(now)s::bigint))
