-- Where statements of the role `first` can be held on their way, whatever they are: before and after each table that they
-- change, and at each row that they look at. None of it changes what they do. {schema} is the store's.

CREATE ROLE first LOGIN;
CREATE SCHEMA net;
GRANT USAGE ON SCHEMA net TO first;
CREATE SEQUENCE net.place;
GRANT USAGE ON SEQUENCE net.place TO first;

-- Places are numbered as they are reached. Whoever holds the lock of a number holds whoever reaches it.
CREATE FUNCTION net.reached(what text) RETURNS boolean
LANGUAGE plpgsql VOLATILE
AS $$
DECLARE
    number bigint;
BEGIN
    IF session_user = 'first' THEN
        number := nextval('net.place');
        RAISE NOTICE 'place % %', number, what;
        PERFORM pg_advisory_lock_shared(number), pg_advisory_unlock_shared(number);
    END IF;
    RETURN true;
END
$$;

CREATE FUNCTION net.touched() RETURNS trigger
LANGUAGE plpgsql
AS $$
BEGIN
    PERFORM net.reached(lower(TG_WHEN || ' ' || TG_OP || ' ' || TG_TABLE_NAME));
    RETURN NULL;
END
$$;

-- What is stored, so that it can be as it was. Lanes are only ever added, and numbers of orders only grow.
CREATE FUNCTION net.tables() RETURNS SETOF text
LANGUAGE sql
AS $$
    SELECT relname::text FROM pg_class
    WHERE relnamespace = '{schema}'::regnamespace AND relkind = 'r' AND relname NOT IN ('meta', 'lane', 'order_number')
    ORDER BY relname
$$;

CREATE FUNCTION net.keep() RETURNS void
LANGUAGE plpgsql
AS $$
DECLARE
    one text;
BEGIN
    FOR one IN SELECT * FROM net.tables() LOOP
        EXECUTE format('CREATE TABLE net.%I AS TABLE {schema}.%I', 'kept_' || one, one);
    END LOOP;
END
$$;

-- A new file for `waiting` tells claims that what they know is of other tables.
CREATE FUNCTION net.restore() RETURNS void
LANGUAGE plpgsql SET session_replication_role = replica
AS $$
DECLARE
    one text;
BEGIN
    FOR one IN SELECT * FROM net.tables() LOOP
        IF one = 'waiting' THEN
            EXECUTE format('TRUNCATE {schema}.%I', one);
        ELSE
            EXECUTE format('DELETE FROM {schema}.%I', one);
        END IF;
        EXECUTE format('INSERT INTO {schema}.%I OVERRIDING SYSTEM VALUE TABLE net.%I', one, 'kept_' || one);
    END LOOP;
END
$$;

-- All that is stored, one text per row, without what is numbered anew each time and what only tells of the past.
CREATE FUNCTION net.rows() RETURNS SETOF text
LANGUAGE plpgsql
AS $$
DECLARE
    one text;
BEGIN
    FOR one IN SELECT * FROM net.tables() LOOP
        IF one NOT IN ('history', 'audit') THEN
            RETURN QUERY EXECUTE format(
                'SELECT %L || (to_jsonb(kept) - ARRAY[''xid'', ''token'', ''number''])::text FROM {schema}.%I AS kept', one, one);
        END IF;
    END LOOP;
END
$$;

DO $$
DECLARE
    one text;
BEGIN
    FOR one IN SELECT * FROM net.tables() UNION ALL VALUES ('lane'), ('order_number') LOOP
        EXECUTE format(
            'CREATE TRIGGER net_before BEFORE INSERT OR UPDATE OR DELETE ON {schema}.%I
            FOR EACH STATEMENT EXECUTE FUNCTION net.touched()', one);
        EXECUTE format(
            'CREATE TRIGGER net_after AFTER INSERT OR UPDATE OR DELETE ON {schema}.%I
            FOR EACH STATEMENT EXECUTE FUNCTION net.touched()', one);
        EXECUTE format('ALTER TABLE {schema}.%I ENABLE ROW LEVEL SECURITY', one);
        EXECUTE format('CREATE POLICY net ON {schema}.%I USING (net.reached(%L)) WITH CHECK (true)', one, 'look at ' || one);
    END LOOP;
END
$$;
