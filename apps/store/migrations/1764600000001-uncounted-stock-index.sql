-- Outside a transaction.
CREATE INDEX CONCURRENTLY uncounted_stock ON stock (plant_id DESC) WHERE uncounted_since IS NOT NULL AND listing <> 'retired';
