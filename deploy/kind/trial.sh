#!/usr/bin/env bash
# Tries svc on one repository, from this machine: docs/trial.md. `--help` lists the options. It keeps what it makes in the
# folder trial/, and goes on where it stopped when it is run again.
set -euo pipefail
umask 077
cd "$(dirname "$0")/../.."
source deploy/kind/argocd.sh

cluster=svc-trial
state=trial
# The cluster of the trial, never one that you work with.
export KUBECONFIG="$PWD/$state/kubeconfig"

usage() {
  cat <<'USAGE'
Usage: deploy/kind/trial.sh github OWNER/REPOSITORY FOLDER [OPTION]...
       deploy/kind/trial.sh gitlab GROUP/PROJECT FOLDER [OPTION]...
       deploy/kind/trial.sh remove

Starts svc for one repository, and an Argo CD in a new cluster of kind that deploys FOLDER of it: manifests, a chart or a
kustomization. `remove` deletes the cluster and the files.

Options:
  --argocd URL      an Argo CD that is there, in place of a new cluster; FOLDER is left out then
  --token T         its token (default: the variable ARGOCD_TOKEN)
  --insecure        accept its self-signed certificate
  --host URL        a self-hosted GitHub or GitLab
  --port N          port of the pages of svc (default: 4141)
USAGE
}

say() { printf '\n== %s\n' "$*"; }
fail() {
  printf 'trial.sh: %s\n' "$*" >&2
  exit 1
}

read_arguments() {
  host=${1:-}
  case "$host" in
    github | gitlab | remove) shift ;;
    -h | --help) usage && exit ;;
    *) usage >&2 && exit 2 ;;
  esac
  local words=()
  while (($# > 0)); do
    case "$1" in
      --argocd | --token | --host | --port)
        if (($# < 2)); then fail "$1 needs a value"; fi
        printf -v "given_${1#--}" %s "$2"
        shift ;;
      --insecure) insecure=true ;;
      -h | --help) usage && exit ;;
      -*) fail "unknown option $1; --help lists them" ;;
      *) words+=("$1") ;;
    esac
    shift
  done
  if [[ "$host" == remove ]]; then return; fi
  repository=${words[0]:-} folder=${words[1]:-} folder=${folder%/}
  if [[ ! "$repository" =~ ^[A-Za-z0-9_.-]+(/[A-Za-z0-9_.-]+)+$ ]]; then
    fail "name the repository as in its address, such as acme/shop"
  fi
  if [[ -n "$given_argocd" ]]; then
    if [[ -n "$folder" ]]; then fail "leave $folder out: the Argo CD at $given_argocd has its applications"; fi
  elif [[ ! "$folder" =~ ^[A-Za-z0-9_.][A-Za-z0-9_./-]*$ ]]; then
    fail "name the folder of $repository that Argo CD shall deploy, such as apps/web, or . for all of it"
  fi
}

need() {
  local missing=()
  for program in "$@"; do
    if ! command -v "$program" >/dev/null; then missing+=("$program"); fi
  done
  if ((${#missing[@]} > 0)); then fail "install ${missing[*]} first"; fi
  if [[ ! -f dist/main.js ]]; then fail "run this first: npm ci && npm run build"; fi
}

# Shows what setup says to people, and not the section and the steps that this script does.
until_section() {
  local line shown=true
  while IFS= read -r line; do
    if [[ "$line" == "This goes into"* ]]; then shown=false; fi
    if $shown; then printf '%s\n' "$line"; fi
  done
}

# Registers the App once, in a browser. The section of svc.yaml that setup prints is kept.
register_app() {
  if [[ -s "$state/section.yaml" ]]; then return; fi
  local owner=${repository%%/*} of=()
  # A personal account has no organization; whoever cannot be asked about is taken for one.
  if ! grep -q '"type": *"User"' <<<"$(curl --silent "$api/users/$owner")"; then of=(--organization "$owner"); fi
  say "Register the GitHub App of the trial"
  node dist/main.js setup github --poll --github "$web" ${of[@]+"${of[@]}"} --secrets "$state/secrets" |
    tee "$state/setup.txt" | until_section
  sed -n '/^github:$/,/^$/p' "$state/setup.txt" >"$state/section.yaml"
  say "Install the App on $repository: $(sed -n 's/.*Install the App on the repositories: //p' "$state/setup.txt")"
}

base64url() { openssl base64 -A | tr '+/' '-_' | tr -d '='; }

# Asks GitHub as the App. The token goes through a pipe, since everybody on this machine sees arguments.
ask_as_app() {
  local now signed
  now=$(date +%s)
  signed="$(printf '{"alg":"RS256","typ":"JWT"}' | base64url).$(
    printf '{"iat":%d,"exp":%d,"iss":"%s"}' $((now - 60)) $((now + 540)) "$app_id" | base64url
  )"
  signed+=".$(printf %s "$signed" | openssl dgst -sha256 -sign "$state/secrets/GITHUB_APP_PRIVATE_KEY" -binary | base64url)"
  printf 'header = "Authorization: Bearer %s"\nheader = "Accept: application/vnd.github+json"\n' "$signed" |
    curl --silent --fail --config - "$api/$1"
}

await_installation() {
  app_id=$(sed -n 's/^  app_id: //p' "$state/section.yaml")
  local answer
  for _ in {1..200}; do
    if answer=$(ask_as_app "repos/$repository/installation"); then
      installation=$(node -p 'JSON.parse(require("node:fs").readFileSync(0, "utf8")).id' <<<"$answer")
      return
    fi
    sleep 3
  done
  fail "the App is not installed on $repository: install it, and run the same command again"
}

store_gitlab_token() {
  local file="$state/secrets/GITLAB_TOKEN"
  if [[ ! -s "$file" ]]; then
    if [[ -z "${GITLAB_TOKEN:-}" ]]; then
      read -rsp "Token of the account of svc, with the scope api (it is not shown): " GITLAB_TOKEN
      echo
    fi
    printf %s "$GITLAB_TOKEN" >"$file"
  fi
  # shellcheck disable=SC2016 # svc reads the variable.
  printf 'gitlab:\n  url: "%s"\n  token: ${GITLAB_TOKEN}\n  poll: 15s\n' "$web" >"$state/section.yaml"
}

start_argocd() {
  say "Argo CD in a cluster of kind, which takes a few minutes"
  if kind get clusters 2>/dev/null | grep -qx "$cluster"; then
    kind export kubeconfig --name "$cluster"
  else
    deploy/kind/create-cluster.sh "$cluster"
  fi
  install_argocd
  forward_argocd
  ARGOCD_TOKEN=$(argocd_token)
  insecure=true
}

# Argo CD reads the repository with what svc reads it with, so that private ones work as well.
store_credentials() {
  local keys=()
  if [[ "$host" == github ]]; then
    keys=(--from-literal "githubAppID=$app_id" --from-literal "githubAppInstallationID=$installation"
      --from-file "githubAppPrivateKey=$state/secrets/GITHUB_APP_PRIVATE_KEY")
    if [[ "$api" != https://api.github.com ]]; then keys+=(--from-literal "githubAppEnterpriseBaseUrl=$api"); fi
  else
    keys=(--from-literal username=svc --from-file "password=$state/secrets/GITLAB_TOKEN")
  fi
  kubectl --namespace argocd create secret generic svc-trial --from-literal type=git --from-literal "url=$web/$repository.git" \
    "${keys[@]}" --dry-run=client --output yaml |
    kubectl label --local --filename - argocd.argoproj.io/secret-type=repository --output yaml |
    kubectl apply --filename -
}

# Deploys the folder as it is on the default branch. Later, only svc syncs it: there is no auto-sync.
create_application() {
  local name=${folder##*/}
  if [[ "$name" == . || -z "$name" ]]; then name=${repository##*/}; fi
  name=$(tr '[:upper:]_.' '[:lower:]--' <<<"$name" | sed 's/^-*//; s/-*$//')
  if ! kubectl --namespace argocd get application "$name" >/dev/null 2>&1; then
    kubectl apply --filename - <<APPLICATION
apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: { name: "$name", namespace: argocd }
spec:
  project: default
  source: { repoURL: "$web/$repository.git", path: "$folder", targetRevision: HEAD }
  destination: { server: "https://kubernetes.default.svc", namespace: "$name" }
  syncPolicy: { syncOptions: [CreateNamespace=true] }
operation: { sync: {} }
APPLICATION
  fi
  for _ in {1..60}; do
    if [[ -n "$(kubectl --namespace argocd get application "$name" --output 'jsonpath={.status.sync.status}')" ]]; then break; fi
    sleep 2
  done
}

write_configuration() {
  {
    printf 'server: { host: 127.0.0.1, port: %s, base_url: "http://localhost:%s" }\n' "$given_port" "$given_port"
    # shellcheck disable=SC2016 # svc reads the variable.
    printf 'argocd: { server_url: "%s", token: "${ARGOCD_TOKEN}", insecure: %s }\n' "$argocd_url" "$insecure"
    printf 'defaults: { allowed_repos: ["%s"] }\n' "$repository"
    cat "$state/section.yaml"
  } >"$state/svc.yaml"
}

remove() {
  if command -v kind >/dev/null; then kind delete cluster --name "$cluster"; fi
  local app
  app=$(sed -n 's/^App  *\([^,]*\),.*/\1/p' "$state/setup.txt" 2>/dev/null || true)
  rm -rf "$state"
  say "The cluster and the folder $state/ are gone"
  if [[ -n "$app" ]]; then echo "Delete the App $app at GitHub: Settings, Developer settings, GitHub Apps, Edit, Advanced."; fi
  echo "Revoke what you made by hand: a token at GitLab or of Argo CD. Comments and statuses in pull requests stay."
}

given_argocd='' given_token=${ARGOCD_TOKEN:-} given_host='' given_port=4141 insecure=false
read_arguments "$@"
if [[ "$host" == remove ]]; then
  remove
  exit
fi
if [[ -n "$given_argocd" ]]; then
  need node git curl openssl
  if [[ -z "$given_token" ]]; then fail "give the token of $given_argocd with --token, or in the variable ARGOCD_TOKEN"; fi
else
  need node git curl openssl docker kind kubectl
fi
trap stop_forward EXIT
mkdir -p "$state/secrets"

web=${given_host:-https://$host.com} web=${web%/}
if [[ "$web" == https://github.com ]]; then api=https://api.github.com; else api="$web/api/v3"; fi
case "$host" in
  github) register_app ;;
  gitlab) store_gitlab_token ;;
esac
if [[ -n "$given_argocd" ]]; then
  argocd_url=$given_argocd ARGOCD_TOKEN=$given_token
else
  start_argocd
fi
if [[ "$host" == github ]]; then await_installation; fi
if [[ -z "$given_argocd" ]]; then
  store_credentials
  create_application
fi
write_configuration
export ARGOCD_TOKEN
for file in "$state"/secrets/*; do
  declare -x "$(basename "$file")=$(cat "$file")"
done

say "svc check --online"
node dist/main.js check --online "$state/svc.yaml" || fail "mend that, and run the same command again"
say "Open a pull request in $repository: the plan follows within half a minute. Pages: http://localhost:$given_port. Ctrl-C ends svc"
node dist/main.js -c "$state/svc.yaml"
