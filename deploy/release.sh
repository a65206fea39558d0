#!/bin/sh
# Releases one service: sh deploy/release.sh store production
# Replicas of one role: sh deploy/release.sh notifications production-stream
# Applies settings and policies, migrates the schema, then replaces the pods. If a step fails, the old pods keep running.
set -eu

service=$1
folder=$(dirname "$0")/$service/overlays/$2
case $2 in production-*) suffix=-${2#production-} ;; *) suffix= ;; esac
namespace=$(sed -n 's/^namespace: //p' "$folder/kustomization.yaml")

# Prints why the migration's pod has not started: what its container or the scheduler waits for, or why there is no pod.
# Prints nothing if there is no problem.
obstacle() {
  job=$1
  waiting='{range .items[*]}{range .status.containerStatuses[*]}{.state.waiting.reason}{": "}{.state.waiting.message}{end}'
  unplaced='{.status.conditions[?(@.reason=="Unschedulable")].message}{"\n"}{end}'
  pods=$(kubectl get pods --selector "job-name=$job" --namespace "$namespace" --output "jsonpath=$waiting$unplaced")
  if [ -n "$pods" ]; then
    echo "$pods" | grep -Ev '^(: |ContainerCreating|PodInitializing|$)' | tail -n 1
  else
    kubectl get events --field-selector "involvedObject.name=$job,type=Warning" --namespace "$namespace" --output 'jsonpath={.items[-1:].message}'
  fi
}

# `kubectl wait` supports one condition: with `complete` it would keep waiting after the Job has failed.
wait_for_migration() {
  job=$service-migrate$suffix
  deadline=$(($(date +%s) + 900))
  said=
  while :; do
    conditions=$(kubectl get "job/$job" --namespace "$namespace" --output 'jsonpath={.status.conditions[?(@.status=="True")].type}')
    case " $conditions " in
      *' Complete '*) return ;;
      *' Failed '*)
        echo "The migration of $service failed; nothing was rolled out. Its last lines:" >&2
        kubectl logs --selector "job-name=$job" --namespace "$namespace" --prefix --tail=20 >&2
        exit 1
        ;;
    esac
    why=$(obstacle "$job")
    if [ -n "$why" ] && [ "$why" != "$said" ]; then
      echo "The migration of $service has not started: $why" >&2
      said=$why
    fi
    if [ "$(date +%s)" -ge "$deadline" ]; then
      echo "The migration of $service did not end within 15 minutes; nothing was rolled out. See: kubectl describe job/$job --namespace $namespace" >&2
      exit 1
    fi
    sleep 1
  done
}

if [ -f "$(dirname "$0")/$service/base/migration.yaml" ]; then
  kubectl delete job "$service-migrate$suffix" --namespace "$namespace" --ignore-not-found
  kubectl apply --kustomize "$folder" --selector release-phase=prepare
  wait_for_migration
fi
kubectl apply --kustomize "$folder"
kubectl rollout status "deployment/$service$suffix" --namespace "$namespace" --timeout=10m
