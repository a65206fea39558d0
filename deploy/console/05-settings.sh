#!/bin/sh
# nginx's image runs this before it starts. Ends the container, with the exit code that the services have for missing settings, where
# nginx would start but no page would work.
fault() {
  echo "$1" >&2
  exit 78
}
folder=${NGINX_ENVSUBST_OUTPUT_DIR:-/etc/nginx/conf.d}
[ -n "$PUBLIC_URL" ] || fault 'PUBLIC_URL is missing (Public address of the API)'
[ -w "$folder" ] || fault "$folder is not writable for uid $(id -u) (its configuration)"
