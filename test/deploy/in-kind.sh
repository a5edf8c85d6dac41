#!/usr/bin/env bash
# Installs the image and the chart of this working copy into a new cluster of kind, with Redis and two processes, runs
# `helm test`, upgrades, and deletes the cluster. Needs a container engine, kind, kubectl and Helm.
set -euo pipefail
cd "$(dirname "$0")/../.."
cluster="svc-$$"
work=$(mktemp -d)
trap 'kind delete cluster --name "$cluster"; rm -rf "$work"' EXIT

docker build --tag registry.example.org/svc:kind .
deploy/kind/create-cluster.sh "$cluster"
kind load docker-image registry.example.org/svc:kind --name "$cluster"

kubectl create namespace svc
kubectl -n svc create deployment redis --image=redis:8 --port=6379
kubectl -n svc expose deployment redis
# svc starts although nobody knows this App: it says so in its log.
openssl genrsa -out "$work/GITHUB_APP_PRIVATE_KEY" 2048
printf %s "$(openssl rand -hex 32)" >"$work/GITHUB_WEBHOOK_SECRET"
printf %s none >"$work/ARGOCD_TOKEN"
kubectl -n svc create secret generic svc --from-file="$work"

install=(helm upgrade --install svc deploy/chart --namespace svc --values - --wait --timeout 5m)
values() {
  cat <<VALUES
image: { repository: registry.example.org/svc, tag: kind, pullPolicy: Never }
existingSecret: svc
secretVersion: "$1"
networkPolicy: { enabled: true }
config:
  server: { metrics_port: 9090 }
  kvstore: { address: "redis:6379" }
  deployer: { server_url: "https://argocd.example.org", token: "\${ARGOCD_TOKEN}" }
  hosta: { app_id: 1, private_key: "\${GITHUB_APP_PRIVATE_KEY}", webhook_secret: "\${GITHUB_WEBHOOK_SECRET}" }
VALUES
}
show() {
  kubectl -n svc get pods
  kubectl -n svc logs deployment/svc --tail=50 || true
}

for version in 1 2; do
  values "$version" | "${install[@]}" || { show; exit 1; }
  helm test svc --namespace svc --logs || { show; exit 1; }
done
