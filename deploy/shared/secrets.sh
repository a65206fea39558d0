#!/bin/sh
# Prints new Secrets, except those of the database owners, which the operator creates:
#   sh deploy/shared/secrets.sh | kubectl create --namespace plant-shop --filename -
# `create` refuses existing Secrets, which belong to the data.
set -eu

# Begins with a letter: NATS would parse other values as numbers (deploy/nats/nats.conf).
draw() { printf 's%s' "$(od -An -N32 -tx1 /dev/urandom | tr -d ' \n')"; }

secret() {
  printf -- '---\napiVersion: v1\nkind: Secret\nmetadata:\n  name: %s\n  labels:\n    app.kubernetes.io/part-of: plant-shop\n' "$1"
  printf 'stringData:\n  %s: %s\n' "$2" "$(draw)"
}

# The service's database role, for the operator (username, password) and for the service (uri).
database_role() {
  password=$(draw)
  printf -- '---\napiVersion: v1\nkind: Secret\ntype: kubernetes.io/basic-auth\nmetadata:\n  name: %s-db-service\n  labels:\n    app.kubernetes.io/part-of: plant-shop\n    cnpg.io/reload: "true"\n' "$1"
  printf 'stringData:\n  username: %s_service\n  password: %s\n  uri: postgresql://%s_service:%s@%s-db-rw:5432/%s\n' "$1" "$password" "$1" "$password" "$1" "$1"
}

for user in gateway catalog store identity notifications operator; do
  secret "nats-user-$user" password
  printf '  user: %s\n' "$user"
done
for service in catalog store identity notifications; do
  database_role "$service"
done
secret identity-secret secret
secret notifications-secret secret
