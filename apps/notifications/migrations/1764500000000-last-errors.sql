-- Of the last attempt of the endpoint, if that failed. Null also while only an older release has recorded failures.
ALTER TABLE webhook_queues ADD COLUMN last_error text;
