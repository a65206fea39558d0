-- What the page "Your account" shows.

-- The network of the log-in, /24 or with IPv6 /48. Null: not known.
ALTER TABLE sessions ADD COLUMN network text CHECK (length(network) <= 64);
