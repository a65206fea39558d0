#!/bin/sh
# Prints new Secrets for everything but the databases, whose operator makes its own:
#   sh deploy/shared/secrets.sh | kubectl create --namespace plant-shop --filename -
# `create` refuses what is there already: these belong to the data.
set -eu

# It begins with a letter: NATS would read other values as numbers (deploy/nats/nats.conf).
draw() { printf 's%s' "$(od -An -N32 -tx1 /dev/urandom | tr -d ' \n')"; }

secret() {
  printf -- '---\napiVersion: v1\nkind: Secret\nmetadata:\n  name: %s\n  labels:\n    app.kubernetes.io/part-of: plant-shop\n' "$1"
  printf 'stringData:\n  %s: %s\n' "$2" "$(draw)"
}

for user in gateway catalog store identity notifications operator; do
  secret "nats-user-$user" password
done
secret identity-secret secret
secret notifications-secret secret
