-- The triggers find the words of changed plants by the index. Postgres expects 1,000 words of each plant where there are a few,
-- and would read the whole of plant_words for a batch: 256 plants of 200,000 took 1,040 ms, and take 310.
ALTER FUNCTION words_of_plant(text, jsonb, jsonb) ROWS 8;
ALTER FUNCTION index_plant_words() SET enable_seqscan = off;
ALTER FUNCTION index_plant_words() SET enable_hashjoin = off;
ALTER FUNCTION index_plant_words() SET enable_mergejoin = off;
