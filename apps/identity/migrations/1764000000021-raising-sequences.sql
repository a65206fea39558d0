-- Raising a sequence (libs/platform/src/postgres/sequences.ts) is for its owner, which the service is not. `hold_sequence`
-- changes nothing, and nobody draws until the transaction ends.
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
