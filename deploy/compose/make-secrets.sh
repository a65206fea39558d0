#!/bin/sh
# Generates the missing secrets of docker-compose.yml in deploy/compose/secrets (or the given folder).
# They belong to the data in the volumes: keep or delete both together.
set -eu

folder=${1:-$(dirname "$0")/secrets}
# Containers read the mounted files as different users, so the folder's permissions keep other users out.
mkdir -p "$folder"
chmod 700 "$folder"

# Begins with a letter: NATS would parse other values as numbers (deploy/nats/nats.conf).
draw() { printf 's%s' "$(od -An -N32 -tx1 /dev/urandom | tr -d ' \n')"; }

keep() {
  [ -s "$folder/$1" ] && return
  printf '%s\n' "$2" > "$folder/$1.new"
  chmod 444 "$folder/$1.new"
  mv "$folder/$1.new" "$folder/$1"
  echo "$folder/$1"
}

keep postgres-password "$(draw)"
for service in catalog store identity notifications; do
  keep "$service-database-url" "postgresql://${service}_service:$(draw)@postgres:5432/$service"
  keep "$service-owner-database-url" "postgresql://$service:$(draw)@postgres:5432/$service"
done
for user in gateway catalog store identity notifications operator; do
  keep "nats-$user" "$(draw)"
done
keep identity-secret "$(draw)"
keep notifications-secret "$(draw)"
keep grafana-password "$(draw)"
