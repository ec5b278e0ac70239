-- Where statements of the role `first` can be held on their way, whatever they are: before and after each table that they
-- change, and at each row that they look at. None of it changes what they do. {schema} is the store's.

CREATE ROLE first LOGIN;
CREATE SCHEMA net;
GRANT USAGE ON SCHEMA net TO first;

-- Whoever holds the lock of a place holds whoever reaches it.
CREATE FUNCTION net.reached(what text) RETURNS boolean
LANGUAGE plpgsql VOLATILE
AS $$
BEGIN
    IF session_user = 'first' THEN
        RAISE NOTICE 'place: %', what;
        PERFORM pg_advisory_lock_shared(hashtext(what)), pg_advisory_unlock_shared(hashtext(what));
    END IF;
    RETURN true;
END
$$;

CREATE FUNCTION net.touched() RETURNS trigger
LANGUAGE plpgsql
AS $$
BEGIN
    PERFORM nextval('net.changed_' || TG_TABLE_NAME);
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

-- Only what was changed since. Rows that wait are new to claims that know where lanes go on; a new file for the table tells
-- them that they know nothing.
CREATE FUNCTION net.restore(anew boolean) RETURNS void
LANGUAGE plpgsql SET session_replication_role = replica
AS $$
DECLARE
    one text;
BEGIN
    IF anew THEN
        TRUNCATE {schema}.waiting;
    END IF;
    FOR one IN
        SELECT name FROM net.tables() AS name
        WHERE pg_sequence_last_value(('net.changed_' || name)::regclass) IS NOT NULL OR (anew AND name = 'waiting')
    LOOP
        EXECUTE format('DELETE FROM {schema}.%I', one);
        EXECUTE format('INSERT INTO {schema}.%I OVERRIDING SYSTEM VALUE TABLE net.%I', one, 'kept_' || one);
        CASE one
            WHEN 'waiting' THEN UPDATE {schema}.waiting SET xid = pg_current_xact_id();
            WHEN 'pause' THEN UPDATE {schema}.order_number SET number = number + 1;
            ELSE NULL;
        END CASE;
        PERFORM setval('net.changed_' || one, 1, false);
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
        EXECUTE format('CREATE SEQUENCE net.%I', 'changed_' || one);
        EXECUTE format('GRANT USAGE ON SEQUENCE net.%I TO first', 'changed_' || one);
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
