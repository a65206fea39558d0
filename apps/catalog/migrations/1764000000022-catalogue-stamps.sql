-- Stamps validate caches of the catalogue (docs/decisions/cached-reads.md). The catalogue has 16 parts by plant id, and every
-- transaction that changes a plant of the part replaces its stamp. So data read under a stamp is exact while the stamp stays.
--
-- Random, not a counter: after a restore a counter would repeat values for other data. A stamp restored from a backup stands
-- for exactly the plants restored with it.
CREATE TABLE catalogue_stamps (
  part  integer PRIMARY KEY CHECK (part BETWEEN 0 AND 15),
  stamp uuid    NOT NULL DEFAULT gen_random_uuid()
) WITH (fillfactor = 10);
INSERT INTO catalogue_stamps (part) SELECT generate_series(0, 15);

-- Replaces a stamp once per transaction: otherwise a transaction that changes many plants would leave as many dead versions of
-- the row.
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

-- Deferred: the stamp's lock is the last one that a transaction takes, and it is held only during the commit. Tags and
-- photographs are never written without their plant, whose id never changes.
CREATE CONSTRAINT TRIGGER plants_draw_stamp AFTER INSERT OR UPDATE OR DELETE ON plants
  DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION draw_catalogue_stamp();
