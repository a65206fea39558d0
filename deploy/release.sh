#!/bin/sh
# Releases one service: sh deploy/release.sh store production
# Replicas of one role: sh deploy/release.sh notifications production-stream
# Applies settings and policies, migrates the schema, starts the first new pods, compares them with the old ones, then replaces the rest.
# If a step fails or the new pods hurt, it undoes what it changed, except for migrations, which the former release supports, and says why
# in one line. The old pods serve throughout.
#   OBSERVE_SECONDS  how long the first new pods are compared, default 120
#   PROBE            a command that fails if the shop answers with wrong content; it runs every few seconds of that time
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
  trap 'rm -rf "$work"' EXIT
  echo "$deployment is not released: $(echo "$1" | tr '\n' ' ')" >&2 || :
  # At once: undoing the rest takes longer, and pods that end as usual serve on for as long as preStop waits.
  [ -z "$suspects" ] || kube delete pods --selector "$suspects" --grace-period=1 --wait=false > /dev/null || :
  if [ -s "$before" ]; then kube apply --filename "$before" > /dev/null; fi
  created=$(kube get --filename "$manifests" --ignore-not-found --output name | grep -Fxv -f "$work/names" || true)
  # shellcheck disable=SC2086
  if [ -n "$created" ]; then kube delete --ignore-not-found --wait=false $created > /dev/null; fi
  if grep -q '^deployment' "$work/names"; then kube rollout status "deployment/$deployment" --timeout=3m > /dev/null; fi
  take_most 0
  echo 'Undone: all is as before.' >&2 || :
  exit 1
}

# Prints why pods do not run, a line for each: what a container or the scheduler waits for.
obstacles() {
  waiting='{range .items[*]}{range .status.containerStatuses[*]}{.state.waiting.reason}{": "}{.state.waiting.message}{"\n"}{end}'
  unplaced='{.status.conditions[?(@.reason=="Unschedulable")].message}{"\n"}{end}'
  kube get pods --selector "$1" --output "jsonpath=$waiting$unplaced" | grep -Ev '^(: |ContainerCreating|PodInitializing|$)' || true
}

# The pods of the former release that take most calls.
busy=
# Has them do so for at most so many seconds, so that few calls meet a bad release; 0: they take their share again. Pods of releases that
# cannot do it refuse, and take their share.
take_most() {
  for pod in $busy; do kube exec "$pod" -- node --eval "fetch('http://127.0.0.1:9090/takeMost?seconds=$1', { method: 'POST' })" > "$work/share" 2>&1 & done
  wait
}

said=
# The labels of the pods that are compared with the old ones.
suspects=
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
      why=$(kube get events --field-selector "involvedObject.name=$job,type=Warning" --output 'jsonpath={range .items[*]}{.message}{"\n"}{end}' | tail -n 1)
    fi
    consider "$why" "job-name=$job"
    [ "$(date +%s)" -lt "$deadline" ] || fail "its migration did not end within 15 minutes"
    sleep 1
  done
}

# The labels of all its pods, each followed by a comma.
all_pods() { kube get "deployment/$deployment" --output 'go-template={{range $name, $value := .spec.selector.matchLabels}}{{$name}}={{$value}},{{end}}'; }

# The labels of the pods of this release: those of its newest ReplicaSet.
new_pods() {
  labels=$(all_pods)
  revisions='{range .items[*]}{.metadata.annotations.deployment\.kubernetes\.io/revision}{" "}{.metadata.labels.pod-template-hash}{"\n"}{end}'
  echo "${labels}pod-template-hash=$(kube get replicasets --selector "${labels%,}" --output "jsonpath=$revisions" | sort -n | tail -n 1 | cut -d ' ' -f 2)"
}

# Prints what a pod counted since its start: for each operation the answers, failures and seconds; and its memory in bytes.
counting='
const rows = {};
const text = await (await fetch("http://127.0.0.1:9090/metrics")).text();
for (const [, what, labels, value] of text.matchAll(/^(?:http_request_duration|rpc_operation_duration|stream_lag)_seconds_(count|sum){(.*)} (.*)/gm)) {
  const [operation = "frames", outcome] = [/operation="([^"]*)/, /(?:status|code)="([^"]*)/].map((one) => one.exec(labels)?.[1]);
  const row = (rows[operation] ??= [0, 0, 0]);
  row[what === "sum" ? 2 : 0] += Number(value);
  if (what === "count" && /^(5..|internal|unavailable|outcome-unknown|overloaded|unknown-operation)$/.test(outcome)) row[1] += Number(value);
}
for (const [operation, row] of Object.entries(rows)) console.log(operation, ...row);
console.log("memory", /^process_resident_memory_bytes.* (.*)/m.exec(text)?.[1] ?? 0, 0, 0);'

# Reads the files of `read_counts`. Compares times of `least` requests or more. Ends with 1 and the reason if the new pods are worse than the old ones, or the gateway is worse than
# before them; else prints how many requests the new pods answered.
judgement='
function add(group, sign) { answers[group] += sign * $2; failures[group] += sign * $3; count[group, $1] += sign * $2; seconds[group, $1] += sign * $4; operations[$1] }
function check(before, after, who,   one, took, expected, compared) {
  share = answers[before] > 0 ? failures[before] / answers[before] : 0
  if (failures[after] >= 5 && failures[after] / answers[after] > 2 * share + 0.01) reason = sprintf("%s failed %d of %d requests (before: %.1f %%)", who, failures[after], answers[after], 100 * share)
  for (one in operations) if (count[before, one] > 0 && count[after, one] > 0) {
    compared += count[after, one]; took += seconds[after, one]; expected += count[after, one] * seconds[before, one] / count[before, one]
  }
  if (compared >= least && took > 2 * expected + 0.1 * compared) reason = sprintf("%s took %.0f ms a request (before: %.0f ms)", who, 1000 * took / compared, 1000 * expected / compared)
}
$1 == "memory" {
  if (FILENAME ~ /new-last-/ && $2 > memory["new"]) memory["new"] = $2
  if (FILENAME ~ /old-last-/ && $2 > memory["old"]) memory["old"] = $2
  next
}
FILENAME ~ /new-last-/ { add("new", 1) }
FILENAME ~ /old-last-/ { add("old", 1) }
FILENAME ~ /old-first-/ { add("old", -1) }
FILENAME ~ /callers-last-/ { add("since", 1) }
FILENAME ~ /callers-first-/ { add("since", -1); add("until", 1) }
END {
  check("until", "since", "the gateway")
  check("old", "new", "its new pods")
  if (memory["old"] > 0 && memory["new"] > 1.5 * memory["old"] + 64 * 1048576) reason = sprintf("a new pod uses %.0f MiB (before: %.0f MiB)", memory["new"] / 1048576, memory["old"] / 1048576)
  print(reason != "" ? reason : answers["new"] + 0)
  exit reason != ""
}'

# Notes what pods have counted by now, and at first: read_counts <old, new or callers> <pods>.
read_counts() {
  for pod in $2; do kube exec "$pod" -- node --input-type=module --eval "$counting" > "$work/reading-${pod#*/}" 2> "$work/fault-$1" & done
  wait
  for pod in $2; do
    reading=$work/reading-${pod#*/}
    # A pod that was removed meanwhile keeps what it had counted.
    [ -s "$reading" ] || continue
    [ -e "$work/$1-first-${pod#*/}" ] || cp "$reading" "$work/$1-first-${pod#*/}"
    mv "$reading" "$work/$1-last-${pod#*/}"
  done
}

judge() { verdict=$(awk -v least="$1" "$judgement" "$work"/*-first-* "$work"/*-last-*) || fail "$verdict"; }

fail_if_ended() {
  ended=$(kube get pods --selector "$pods" --output 'jsonpath={range .items[*].status.containerStatuses[?(@.restartCount>0)]}{.lastState.terminated.reason}{end}')
  [ -z "$ended" ] || fail "a new pod ended ($ended). Its last line: $(kube logs --selector "$pods" --previous --tail=1 2>&1)"
}

probe() { [ -z "${PROBE:-}" ] || sh -c "$PROBE" > "$work/probe" 2>&1 || : > "$work/refused"; }

# Compares the first new pods with the old ones while they get their share of the traffic.
observe() {
  old=$(kube get pods --selector "$(echo "$pods" | sed 's/\(pod-template-hash\)=/\1!=/')" --output name)
  [ -n "$old" ] || return 0
  callers=
  [ "$service" = gateway ] || callers=$(kube get pods --selector app.kubernetes.io/name=gateway --output name)
  suspects=$pods
  observed=$(($(date +%s) + ${OBSERVE_SECONDS:-120}))
  halfway=$((observed - ${OBSERVE_SECONDS:-120} / 2))
  while [ "$(date +%s)" -lt "$observed" ]; do
    fail_if_ended
    probe &
    if [ "$service" != console ]; then
      read_counts callers "$callers" &
      read_counts old "$old" &
      read_counts new "$(kube get pods --selector "$pods" --output name)" &
    fi
    wait
    [ ! -e "$work/refused" ] || fail "its probe failed: $(tail -n 1 "$work/probe")"
    if [ "$service" != console ]; then
      if ! ls "$work"/new-last-* > /dev/null 2>&1; then
        # The cluster knows of an end a little later than who was asking the pod.
        sleep 5
        fail_if_ended
        fail "its new pods cannot be observed: $(tail -n 1 "$work/fault-new")"
      fi
      # Whoever is asked little is judged by less, and later, with a greater share.
      if [ "$(date +%s)" -lt "$halfway" ]; then
        judge 50
      else
        take_most 0
        busy=
        judge 20
      fi
    fi
    sleep 1
  done
  [ "$service" = console ] || judge 10
  suspects=
  echo "$deployment: its first new pods answered ${verdict:-no} requests as well as the old ones"
}

# Prints a field of the Deployment; nothing before its first release.
field() { kube get "deployment/$deployment" --ignore-not-found --output "jsonpath={$1}"; }
revision() { field '.metadata.annotations.deployment\.kubernetes\.io/revision'; }

fail_late() {
  ask="fetch('http://127.0.0.1:9090/readyz').then((one) => one.text()).then(console.log)"
  pod=$(kube get pods --selector "$pods" --output name | tail -n 1)
  fail "its new pods are not ready in time: $(obstacles "$pods" | tail -n 1) $(kube exec "$pod" -- node --eval "$ask" 2>&1 | tail -n 1)"
}

wait_for_pods() {
  patience=
  while :; do
    status=$(kube rollout status "deployment/$deployment" --watch=false 2>&1) || true
    pods=$(new_pods)
    # The rollout stops before its first new pods are ready. Later, they might have replaced old ones between two looks.
    if [ -n "$former" ] && [ "$(revision)" != "$former" ]; then
      kube rollout pause "deployment/$deployment" > /dev/null
      former=
      # A paused rollout has no deadline of its own.
      patience=$(($(date +%s) + $(field .spec.progressDeadlineSeconds)))
    fi
    if [ -n "$patience" ] && [ "$(kube get replicasets --selector "$pods" --output 'jsonpath={.items[*].status.readyReplicas}')" ]; then
      observe
      kube rollout resume "deployment/$deployment" > /dev/null
      patience=
    fi
    case $status in
      *'successfully rolled out'*) return ;;
      *'exceeded its progress deadline'*) fail_late ;;
    esac
    [ -z "$patience" ] || [ "$(date +%s)" -lt "$patience" ] || fail_late
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
# Without the Job, which has done its work, and which nobody can change.
kube get --filename "$manifests" --ignore-not-found --output "jsonpath=$applied{range .items[*]}$applied{end}" | grep -v -e '^$' -e '"kind":"Job"' > "$before" || true
grep -q '^{' "$before" || : > "$before"
trap 'fail "it was interrupted"' INT TERM HUP
# It is also undone if nobody reads its output any more.
trap '' PIPE
trap 'fail "a command of kubectl failed"' EXIT

job=$(sed -n "s/^  name: \($service-migrate-[0-9a-f].*\)/\1/p" "$manifests")
if [ -n "$job" ]; then
  # The Job of this release, if it was released before.
  kube delete job "$job" --ignore-not-found
  kube apply --filename "$manifests" --selector release-phase=prepare || fail 'its settings were refused'
  wait_for_migration
fi
former=$(revision)
if [ -n "$job" ] && [ -n "$former" ]; then
  labels=$(all_pods)
  busy=$(kube get pods --selector "${labels%,}" --field-selector status.phase=Running --output name)
  take_most 300
fi
kube apply --filename "$manifests" || fail 'its manifests were refused'
wait_for_pods
take_most 0
trap 'rm -rf "$work"' EXIT
if [ -n "$job" ]; then
  [ -n "$suffix" ] && of_role="app.kubernetes.io/component=${suffix#-}" || of_role='!app.kubernetes.io/component'
  kube delete jobs --selector "app.kubernetes.io/name=$service-migrate,$of_role" --field-selector "metadata.name!=$job"
fi
