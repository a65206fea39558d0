-- psql "$STORE_DATABASE_URL" -v before=2027-01-01 -f deploy/postgres/remove-old-orders.sql
-- Copies the old orders that were placed before a day, and their steps, to orders.tsv and steps.tsv; then deletes them, 1,000 at a time, so
-- that nobody waits. Run it again if it was interrupted, in another folder: the first copies are of those that are gone.
\set ON_ERROR_STOP on
SELECT set_config('shop.before', :'before', false) \g /dev/null
COPY (SELECT * FROM old_orders WHERE placed_at < :'before') TO STDOUT \g orders.tsv
COPY (SELECT steps.* FROM old_order_steps AS steps JOIN old_orders AS old ON old.id = order_id WHERE placed_at < :'before') TO STDOUT \g steps.tsv
DO $$
BEGIN
  LOOP
    WITH gone AS (
      DELETE FROM old_orders WHERE id = ANY(ARRAY(
        SELECT id FROM old_orders WHERE status IN ('delivered', 'cancelled') AND placed_at < current_setting('shop.before')::timestamptz LIMIT 1000
      )) RETURNING id
    )
    DELETE FROM old_order_steps USING gone WHERE order_id = gone.id;
    EXIT WHEN NOT FOUND;
    COMMIT;
  END LOOP;
END $$;
