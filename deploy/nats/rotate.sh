#!/bin/sh
# Gives a service a new NATS user and password, without a failed request: sh deploy/nats/rotate.sh store plant-shop
# NATS knows both users while the pods are replaced, and reads its accounts again without a restart. If interrupted, run it again.
set -eu

service=$1
namespace=$2
here=$(dirname "$0")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

kube() { kubectl --namespace "$namespace" "$@"; }
change() { kube patch secret "nats-user-$service" --patch "$1"; }
field() { kube get secret "nats-user-$service" --output 'go-template={{range $key, $value := .data}}{{$key}} {{base64decode $value}}{{"\n"}}{{end}}' | sed -n "s/^$1 //p"; }

# Gives NATS the users of the Secrets. A server gets the file within about a minute.
tell() {
  sh "$here/accounts.sh" "$namespace" > "$work/accounts.conf"
  kube create secret generic nats-accounts --from-file="accounts.conf=$work/accounts.conf" --dry-run=client --output yaml | kube apply --filename -
  for pod in $(kube get pods --selector app.kubernetes.io/name=nats --output name); do
    until kube exec "$pod" --container nats -- cat /etc/nats-accounts/accounts.conf | cmp -s - "$work/accounts.conf"; do sleep 2; done
    kube exec "$pod" --container nats -- nats-server --signal reload=/var/run/nats/nats.pid
  done
}

if [ -z "$(field former-user)" ]; then
  user=$(field user)
  password=$(field password)
  [ "$user" = "$service" ] && next=$service-next || next=$service
  # Begins with a letter: NATS would parse other values as numbers.
  change "{\"stringData\": {\"next-user\": \"$next\", \"next-password\": \"s$(od -An -N32 -tx1 /dev/urandom | tr -d ' \n')\"}}"
  tell
  change "{\"stringData\": {\"user\": \"$next\", \"password\": \"$(field next-password)\", \"former-user\": \"$user\", \"former-password\": \"$password\"}, \"data\": {\"next-user\": null, \"next-password\": null}}"
fi
# Those of all roles of notifications.
deployments=$(kube get deployments --selector "app.kubernetes.io/name=$service" --output name)
for deployment in $deployments; do kube rollout restart "$deployment"; done
for deployment in $deployments; do kube rollout status "$deployment" --timeout=15m; done
change '{"data": {"former-user": null, "former-password": null}}'
tell
