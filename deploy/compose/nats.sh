#!/bin/sh
# Passes the secrets of docker-compose.yml to nats.conf, which reads passwords from the environment.
set -eu

folder=${SECRETS:-/run/secrets}
for user in gateway catalog store identity notifications operator; do
  variable=$(printf '%s' "$user" | tr '[:lower:]' '[:upper:]')_NATS_PASSWORD
  export "$variable=$(cat "$folder/nats-$user")"
done
exec nats-server "$@"
