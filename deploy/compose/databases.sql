-- What the empty server of docker-compose.yml begins with: for each service a database that nobody else can so much as connect
-- to, its owner, who migrates it, and the role that the service runs as and that the owner grants what it needs. Run once by
-- psql; the passwords are those in the services' own secrets.
\set ON_ERROR_STOP on
\if :{?secrets}
\else
  \set secrets /run/secrets
\endif

REVOKE ALL ON DATABASE postgres FROM PUBLIC;
REVOKE ALL ON DATABASE template1 FROM PUBLIC;

\set password `sed -E 's|^[^:]+://[^:]+:([^@]+)@.*$|\1|' :secrets/catalog-owner-database-url`
CREATE ROLE catalog LOGIN PASSWORD :'password';
CREATE DATABASE catalog OWNER catalog;
REVOKE ALL ON DATABASE catalog FROM PUBLIC;
\set password `sed -E 's|^[^:]+://[^:]+:([^@]+)@.*$|\1|' :secrets/catalog-database-url`
CREATE ROLE catalog_service LOGIN PASSWORD :'password';
GRANT CONNECT ON DATABASE catalog TO catalog_service;

\set password `sed -E 's|^[^:]+://[^:]+:([^@]+)@.*$|\1|' :secrets/store-owner-database-url`
CREATE ROLE store LOGIN PASSWORD :'password';
CREATE DATABASE store OWNER store;
REVOKE ALL ON DATABASE store FROM PUBLIC;
\set password `sed -E 's|^[^:]+://[^:]+:([^@]+)@.*$|\1|' :secrets/store-database-url`
CREATE ROLE store_service LOGIN PASSWORD :'password';
GRANT CONNECT ON DATABASE store TO store_service;

\set password `sed -E 's|^[^:]+://[^:]+:([^@]+)@.*$|\1|' :secrets/identity-owner-database-url`
CREATE ROLE identity LOGIN PASSWORD :'password';
CREATE DATABASE identity OWNER identity;
REVOKE ALL ON DATABASE identity FROM PUBLIC;
\set password `sed -E 's|^[^:]+://[^:]+:([^@]+)@.*$|\1|' :secrets/identity-database-url`
CREATE ROLE identity_service LOGIN PASSWORD :'password';
GRANT CONNECT ON DATABASE identity TO identity_service;

\set password `sed -E 's|^[^:]+://[^:]+:([^@]+)@.*$|\1|' :secrets/notifications-owner-database-url`
CREATE ROLE notifications LOGIN PASSWORD :'password';
CREATE DATABASE notifications OWNER notifications;
REVOKE ALL ON DATABASE notifications FROM PUBLIC;
\set password `sed -E 's|^[^:]+://[^:]+:([^@]+)@.*$|\1|' :secrets/notifications-database-url`
CREATE ROLE notifications_service LOGIN PASSWORD :'password';
GRANT CONNECT ON DATABASE notifications TO notifications_service;
