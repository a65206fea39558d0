#!/bin/sh
# Prints the accounts for NATS in a cluster: those of nats.conf with the users and passwords of the Secrets `nats-user-…`.
#   sh deploy/nats/accounts.sh plant-shop
# While rotate.sh runs, an account has two users.
set -eu

configuration=$(dirname "$0")/nats.conf
credentials=$(
  for account in $(sed -n 's/^ *user: //p' "$configuration"); do
    kubectl --namespace "$1" get secret "nats-user-$account" --output 'go-template={{range $key, $value := .data}}{{$key}} {{base64decode $value}}{{"\n"}}{{end}}' |
      awk -v account="$account" '
        { value[$1] = $2 }
        END { for (key in value) if (key ~ /user$/) { password = key; sub(/user$/, "password", password); print account, value[key], value[password] } }'
  done
)
CREDENTIALS=$credentials awk '
  BEGIN {
    count = split(ENVIRON["CREDENTIALS"], lines, "\n")
    for (n = 1; n <= count; n++) { split(lines[n], one, " "); known[one[1]] = known[one[1]] " " n }
  }
  /^      \{$/ { inside = 1; block = "" }
  !inside { print; next }
  { block = block $0 "\n" }
  $1 == "user:" { account = $2 }
  /^      \}$/ {
    inside = 0
    users = split(known[account], numbers, " ")
    if (users == 0) { print "the Secret nats-user-" account " has no user" > "/dev/stderr"; exit 1 }
    for (n = 1; n <= users; n++) {
      split(lines[numbers[n]], one, " ")
      text = block
      sub(/user: [^\n]*/, "user: " one[2], text)
      sub(/password: [^\n]*/, "password: " one[3], text)
      printf "%s", text
    }
  }' "$configuration"
