-- What caches of the catalogue are checked against (docs/decisions/cached-reads.md). The catalogue is in 16 parts, by plant
-- id; each has a stamp that every transaction which changes a plant of it draws anew. So what was read under a stamp is
-- exact for as long as that stamp is there.
--
-- Drawn at random, and no counter: in a database that was restored from a backup a counter would come to the same numbers
-- again with other plants behind them. A stamp of the backup is one under which exactly these plants were.
CREATE TABLE catalogue_stamps (
  part  integer PRIMARY KEY CHECK (part BETWEEN 0 AND 15),
  stamp uuid    NOT NULL DEFAULT gen_random_uuid()
) WITH (fillfactor = 10);
INSERT INTO catalogue_stamps (part) SELECT generate_series(0, 15);

-- Once for each part and transaction: one that changes many plants would leave as many dead versions of the stamp.
CREATE FUNCTION draw_catalogue_stamp() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  own_part integer := coalesce(NEW.id, OLD.id) & 15;
  drawn    integer := coalesce(nullif(current_setting('catalogue.drawn', true), '')::integer, 0);
BEGIN
  IF drawn & (1 << own_part) = 0 THEN
    UPDATE catalogue_stamps SET stamp = gen_random_uuid() WHERE part = own_part;
    PERFORM set_config('catalogue.drawn', (drawn | (1 << own_part))::text, true);
  END IF;
  RETURN NULL;
END $$;

-- Deferred: the stamp's lock is the last that a transaction takes, and held for its commit only. Tags and photographs are
-- never written without their plant, whose id never changes.
CREATE CONSTRAINT TRIGGER plants_draw_stamp AFTER INSERT OR UPDATE OR DELETE ON plants
  DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION draw_catalogue_stamp();
