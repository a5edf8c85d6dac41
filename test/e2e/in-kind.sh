#!/usr/bin/env bash
# Runs `npm run e2e` against a real Argo CD in a new cluster of kind, and deletes the cluster. Needs a container engine, kind,
# kubectl, curl and what `npm ci` installed. Its arguments go to the run.
set -euo pipefail
cd "$(dirname "$0")/../.."
source deploy/kind/argocd.sh
cluster="svc-e2e-$$"
cleanup() {
  stop_forward
  kind delete cluster --name "$cluster"
}
trap cleanup EXIT

deploy/kind/create-cluster.sh "$cluster"
install_argocd
forward_argocd
ARGOCD_TOKEN=$(argocd_token)
export ARGOCD_TOKEN

# Pods reach this machine at the gateway of kind's network, or a job beside the container engine at its own address.
address=$(docker network inspect kind --format '{{range .IPAM.Config}}{{println .Gateway}}{{end}}' | grep -m1 -F .)
if [[ -n "${KIND_API_HOST:-}" ]]; then
  address=$(hostname -i)
  address=${address%% *}
fi
show() {
  kubectl --namespace argocd get pods,applications,appprojects || true
  kubectl --namespace argocd logs deployment/argocd-repo-server --tail=50 || true
}
npm run e2e -- --argocd "$argocd_url" --insecure --git-listen "$address:0" "$@" || { show; exit 1; }
