-- Most intents open no stock: the INSERT of an intent to list or to retire a plant sets only the columns of its own step.
ALTER TABLE stock_intents ALTER COLUMN opens SET DEFAULT false;
