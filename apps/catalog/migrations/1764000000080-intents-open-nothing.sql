-- Most intents open no stock: an intent to list or to retire a plant names only its own columns.
ALTER TABLE stock_intents ALTER COLUMN opens SET DEFAULT false;
