#!/usr/bin/env bash
# Runs `npm run e2e` against a real Argo CD in a new cluster of kind, and deletes the cluster. Needs a container engine, kind,
# kubectl, curl and what `npm ci` installed. Its arguments go to the run.
set -euo pipefail
cd "$(dirname "$0")/../.."
# renovate: datasource=github-releases depName=argoproj/argo-cd
argocd=v3.5.1
port=8443
cluster="svc-e2e-$$"
forward=
cleanup() {
  if [[ -n "$forward" ]]; then kill "$forward" || true; fi
  kind delete cluster --name "$cluster"
}
trap cleanup EXIT

test/deploy/create-kind-cluster.sh "$cluster"
kubectl create namespace argocd
# On the server's side, since the definition of ApplicationSets is too large for the annotation of the other way.
kubectl --namespace argocd apply --server-side \
  --filename "https://raw.githubusercontent.com/argoproj/argo-cd/$argocd/manifests/install.yaml"
kubectl --namespace argocd wait deployment --all --for=condition=Available --timeout=5m
kubectl --namespace argocd rollout status statefulset/argocd-application-controller --timeout=5m

kubectl --namespace argocd port-forward service/argocd-server "$port:443" >/dev/null &
forward=$!
password=$(kubectl --namespace argocd get secret argocd-initial-admin-secret --output 'jsonpath={.data.password}' | base64 -d)
session=$(curl --silent --show-error --fail --insecure --retry 30 --retry-delay 2 --retry-all-errors \
  --header 'Content-Type: application/json' --data @- "https://127.0.0.1:$port/api/v1/session" \
  <<<"{\"username\":\"admin\",\"password\":\"$password\"}")
ARGOCD_TOKEN=$(sed -n 's/.*"token":"\([^"]*\)".*/\1/p' <<<"$session")
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
npm run e2e -- --argocd "https://127.0.0.1:$port" --insecure --git-listen "$address:0" "$@" || { show; exit 1; }
