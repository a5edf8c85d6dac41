#!/usr/bin/env bash
# Creates a cluster of kind with this name and points kubectl at it. If the container engine runs on another host than this
# script, as in GitLab's jobs, KIND_API_HOST is the name of that host.
set -euo pipefail
name=$1
if [[ -z "${KIND_API_HOST:-}" ]]; then
  kind create cluster --name "$name" --wait 3m
  exit
fi
kind create cluster --name "$name" --wait 3m --config - <<'CONFIG'
kind: Cluster
apiVersion: kind.x-k8s.io/v1alpha4
networking: { apiServerAddress: 0.0.0.0 }
CONFIG
server=$(kubectl config view --output "jsonpath={.clusters[?(@.name=='kind-$name')].cluster.server}")
# The certificate names localhost, and not this host.
kubectl config set-cluster "kind-$name" --server="https://$KIND_API_HOST:${server##*:}" --tls-server-name=localhost
