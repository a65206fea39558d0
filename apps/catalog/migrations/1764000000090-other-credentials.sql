-- Valid credentials of users other than the subject that the request carried too, as JSON: [{kind, id, subject}]. Null: none.
ALTER TABLE audit_log ADD COLUMN other_credentials jsonb;
