#!/bin/sh
# Releases one service: sh deploy/release.sh store production
# Replicas of one role: sh deploy/release.sh notifications production-stream
# First what new pods need (settings, policies, the migrated schema), then the pods. Whatever fails leaves the old ones running.
set -eu

service=$1
folder=$(dirname "$0")/$service/overlays/$2
case $2 in production-*) suffix=-${2#production-} ;; *) suffix= ;; esac
namespace=$(sed -n 's/^namespace: //p' "$folder/kustomization.yaml")

if [ -f "$(dirname "$0")/$service/base/migration.yaml" ]; then
  kubectl delete job "$service-migrate$suffix" --namespace "$namespace" --ignore-not-found
  kubectl apply --kustomize "$folder" --selector release-phase=prepare
  kubectl wait "job/$service-migrate$suffix" --namespace "$namespace" --for=condition=complete --timeout=15m
fi
kubectl apply --kustomize "$folder"
kubectl rollout status "deployment/$service$suffix" --namespace "$namespace" --timeout=10m
