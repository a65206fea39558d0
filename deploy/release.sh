#!/bin/sh
# Releases one service: sh deploy/release.sh store production
# Replicas of one role: sh deploy/release.sh notifications production-stream
# Applies settings and policies, migrates the schema, then replaces the pods. If a step fails, it undoes what it changed, except for
# migrations, which the former release supports, and says why in one line. The old pods serve throughout.
set -eu

service=$1
folder=$(dirname "$0")/$service/overlays/$2
case $2 in production-*) suffix=-${2#production-} ;; *) suffix= ;; esac
deployment=$service$suffix
namespace=$(sed -n 's/^namespace: //p' "$folder/kustomization.yaml")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
manifests=$work/manifests.yaml
before=$work/before.yaml

kube() { kubectl --namespace "$namespace" "$@"; }

refuse() {
  echo "$deployment is not released, and nothing was changed: $1" >&2
  exit 1
}

# Restores what `kubectl apply` knows of the former release, and deletes what it did not have.
fail() {
  echo "$deployment is not released: $1" | tr '\n' ' ' >&2
  echo >&2
  if [ -s "$before" ]; then kube apply --filename "$before" > /dev/null; fi
  created=$(kube get --filename "$manifests" --ignore-not-found --output name | grep -Fxv -f "$work/names" || true)
  # shellcheck disable=SC2086
  if [ -n "$created" ]; then kube delete --ignore-not-found --wait=false $created > /dev/null; fi
  if grep -q '^deployment' "$work/names"; then kube rollout status "deployment/$deployment" --timeout=3m > /dev/null; fi
  echo 'Undone: all is as before.' >&2
  exit 1
}

# Prints why pods do not run, a line for each: what a container or the scheduler waits for.
obstacles() {
  waiting='{range .items[*]}{range .status.containerStatuses[*]}{.state.waiting.reason}{": "}{.state.waiting.message}{"\n"}{end}'
  unplaced='{.status.conditions[?(@.reason=="Unschedulable")].message}{"\n"}{end}'
  kube get pods --selector "$1" --output "jsonpath=$waiting$unplaced" | grep -Ev '^(: |ContainerCreating|PodInitializing|$)' || true
}

said=
# Ends the release if the obstacle stays however long one waits; else prints it, once.
consider() {
  case $1 in
    CrashLoopBackOff:*) fail "a new pod exits. Its last line: $(kube logs --selector "$2" --tail=1 2>&1)" ;;
    ImagePullBackOff:* | InvalidImageName:* | ErrImageNeverPull:* | ErrImagePull:*'not found'* | CreateContainerError:* | CreateContainerConfigError:* | RunContainerError:*) fail "$1" ;;
    '' | ErrImagePull:* | "$said") ;;
    *) echo "$deployment waits: $1" >&2; said=$1 ;;
  esac
}

# `kubectl wait` supports one condition: with `complete` it would keep waiting after the Job has failed.
wait_for_migration() {
  deadline=$(($(date +%s) + 900))
  while :; do
    case " $(kube get "job/$job" --output 'jsonpath={.status.conditions[?(@.status=="True")].type}') " in
      *' Complete '*) return ;;
      *' Failed '* | *' FailureTarget '*) fail "its migration failed. Its last line: $(kube logs --selector "job-name=$job" --tail=1 2>&1)" ;;
    esac
    why=$(obstacles "job-name=$job" | tail -n 1)
    if [ -z "$why" ]; then
      why=$(kube get events --field-selector "involvedObject.name=$job,type=Warning" --output 'jsonpath={.items[-1:].message}')
    fi
    consider "$why" "job-name=$job"
    [ "$(date +%s)" -lt "$deadline" ] || fail "its migration did not end within 15 minutes"
    sleep 1
  done
}

# The labels of the pods of this release: those of its newest ReplicaSet.
new_pods() {
  labels=$(kube get "deployment/$deployment" --output 'go-template={{range $name, $value := .spec.selector.matchLabels}}{{$name}}={{$value}},{{end}}')
  revisions='{range .items[*]}{.metadata.annotations.deployment\.kubernetes\.io/revision}{" "}{.metadata.labels.pod-template-hash}{"\n"}{end}'
  echo "${labels}pod-template-hash=$(kube get replicasets --selector "${labels%,}" --output "jsonpath=$revisions" | sort -n | tail -n 1 | cut -d ' ' -f 2)"
}

wait_for_pods() {
  while :; do
    status=$(kube rollout status "deployment/$deployment" --watch=false 2>&1) || true
    pods=$(new_pods)
    case $status in
      *'successfully rolled out'*) return ;;
      *'exceeded its progress deadline'*)
        ask="fetch('http://127.0.0.1:9090/readyz').then((one) => one.text()).then(console.log)"
        pod=$(kube get pods --selector "$pods" --output 'jsonpath={.items[-1:].metadata.name}')
        fail "its new pods are not ready in time: $(obstacles "$pods" | tail -n 1) $(kube exec "$pod" -- node --eval "$ask" 2>&1 | tail -n 1)"
        ;;
    esac
    consider "$(obstacles "$pods" | tail -n 1)" "$pods"
    sleep 1
  done
}

[ -n "$namespace" ] || refuse "$folder has no namespace"
kubectl kustomize "$folder" > "$manifests" 2> "$work/fault" || refuse "$folder is not valid: $(tail -n 1 "$work/fault")"
for image in $(sed -n 's/^ *\(- \)*image: //p' "$manifests"); do
  path=${image%%@*}
  base=${path##*/}
  [ "${base%%:*}" = "$service" ] || refuse "$image is the image of another service"
done
# All Secrets that the pods need: those without `optional`.
secrets=$(awk '/^ *- secret:/ { inside = 1 } inside && / name: / { name = $2; needed[name] = 1; inside = 0 } / optional: true/ { delete needed[name] } END { for (one in needed) print one }' "$manifests")
# shellcheck disable=SC2086
kube get secrets $secrets --output name > /dev/null 2> "$work/fault" || refuse "$(tail -n 1 "$work/fault")"
kube apply --filename "$manifests" --selector release-phase=rollout --dry-run=server > /dev/null 2> "$work/fault" || refuse "$(tail -n 1 "$work/fault")"

applied='{.metadata.annotations.kubectl\.kubernetes\.io/last-applied-configuration}{"\n---\n"}'
kube get --filename "$manifests" --ignore-not-found --output name > "$work/names"
kube get --filename "$manifests" --ignore-not-found --output "jsonpath=$applied{range .items[*]}$applied{end}" | grep -v '^$' > "$before" || true
grep -q '^{' "$before" || : > "$before"

job=$(sed -n "s/^  name: \($service-migrate-[0-9a-f].*\)/\1/p" "$manifests")
if [ -n "$job" ]; then
  # The Job of this release, if it was released before.
  kube delete job "$job" --ignore-not-found
  kube apply --filename "$manifests" --selector release-phase=prepare || fail 'its settings were refused'
  wait_for_migration
fi
kube apply --filename "$manifests" || fail 'its manifests were refused'
wait_for_pods
if [ -n "$job" ]; then
  [ -n "$suffix" ] && of_role="app.kubernetes.io/component=${suffix#-}" || of_role='!app.kubernetes.io/component'
  kube delete jobs --selector "app.kubernetes.io/name=$service-migrate,$of_role" --field-selector "metadata.name!=$job"
fi
