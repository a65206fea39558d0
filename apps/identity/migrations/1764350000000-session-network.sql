-- Where the session was opened from: an IPv4 address, or the /64 of an IPv6 one. Null: before this column.
ALTER TABLE sessions ADD COLUMN network text;
