-- Initialises the empty server of docker-compose.yml. Creates a database per service that no other service can connect to, the owner
-- role that migrates it, and the service's role, to which the owner grants its rights. psql runs this once; the passwords come from
-- the services' secrets.
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
