# shellcheck shell=bash
# To be sourced: installs Argo CD into the cluster that kubectl points at, and leads to it from this machine.

# renovate: datasource=github-releases depName=argoproj/argo-cd
argocd=v3.5.1

install_argocd() {
  kubectl create namespace argocd --dry-run=client --output yaml | kubectl apply --filename -
  # On the server's side, since the definition of ApplicationSets is too large for the annotation of the other way.
  kubectl --namespace argocd apply --server-side --force-conflicts \
    --filename "https://raw.githubusercontent.com/argoproj/argo-cd/$argocd/manifests/install.yaml"
  kubectl --namespace argocd wait deployment --all --for=condition=Available --timeout=5m
  kubectl --namespace argocd rollout status statefulset/argocd-application-controller --timeout=5m
}

# Forwards a free port of this machine until `stop_forward`, and puts the address into argocd_url.
forward_argocd() {
  local said port=
  said=$(mktemp)
  kubectl --namespace argocd port-forward service/argocd-server :443 >"$said" &
  forward=$!
  for _ in {1..120}; do
    port=$(sed -n 's/^Forwarding from 127\.0\.0\.1:\([0-9]*\) -> .*/\1/p' "$said")
    if [[ -n "$port" ]] || ! kill -0 "$forward" 2>/dev/null; then break; fi
    sleep 0.25
  done
  rm -f "$said"
  if [[ -z "$port" ]]; then
    echo "kubectl did not forward a port to Argo CD" >&2
    return 1
  fi
  argocd_url="https://127.0.0.1:$port"
}

forward=
stop_forward() {
  if [[ -n "$forward" ]]; then kill "$forward" 2>/dev/null || true; fi
}

# Prints a token of the administrator, which Argo CD takes for a day.
argocd_token() {
  local password session
  password=$(kubectl --namespace argocd get secret argocd-initial-admin-secret --output 'jsonpath={.data.password}' | base64 -d)
  session=$(curl --silent --show-error --fail --insecure --retry 30 --retry-delay 2 --retry-all-errors \
    --header 'Content-Type: application/json' --data @- "$argocd_url/api/v1/session" \
    <<<"{\"username\":\"admin\",\"password\":\"$password\"}")
  sed -n 's/.*"token":"\([^"]*\)".*/\1/p' <<<"$session"
}
