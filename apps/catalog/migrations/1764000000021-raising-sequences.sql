-- Only a sequence's owner may raise it (libs/platform/src/postgres/sequences.ts), and the service is not the owner.
-- `hold_sequence` changes nothing, but blocks `nextval` by others until the transaction ends.
CREATE FUNCTION hold_sequence(sequence regclass) RETURNS void
  LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  EXECUTE format('ALTER SEQUENCE %s INCREMENT BY 1', sequence);
END $$;
CREATE FUNCTION restart_sequence(sequence regclass, next bigint) RETURNS void
  LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  EXECUTE format('ALTER SEQUENCE %s RESTART WITH %s', sequence, next);
END $$;
