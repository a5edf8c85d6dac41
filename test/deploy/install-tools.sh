#!/usr/bin/env bash
# Installs what `npm run check:deploy` and `npm run release:dry` need, in the versions that they were tried with: programs in Go
# into $(go env GOPATH)/bin, what comes from Python's package index (requirements.txt) into $(go env GOPATH)/share.
set -euo pipefail
# Nobody needs them to be fast: without optimisation and debug information they are built in half the time.
export CGO_ENABLED=0 GOGC=400
install() {
  go install -gcflags='all=-N -l -dwarf=false' -ldflags="-s -w ${2:-}" "$1"
}
# As Helm's own Makefile does; without, it takes every cluster that it does not ask for Kubernetes 1.20.
helm=helm.sh/helm/v3/pkg
kubernetes=()
for name in chartutil lint/rules; do
  kubernetes+=(-X "$helm/$name.k8sVersionMajor=1" -X "$helm/$name.k8sVersionMinor=35")
done
install helm.sh/helm/v3/cmd/helm@v3.21.3 "${kubernetes[*]}"
install sigs.k8s.io/kustomize/kustomize/v5@v5.8.1
install github.com/rhysd/actionlint/cmd/actionlint@v1.7.12
install github.com/yannh/kubeconform/cmd/kubeconform@v0.8.0
install github.com/open-policy-agent/conftest@v0.71.0

requirements="$(dirname "$0")/requirements.txt"
packages="$(go env GOPATH)/share/svc-deploy-tools"
if ! cmp --silent "$requirements" "$packages/requirements.txt"; then
  rm -rf "$packages"
  python3 -m pip install --quiet --disable-pip-version-check --root-user-action=ignore --no-deps --no-compile --require-hashes \
    --only-binary=:all: --target "$packages" --requirement "$requirements"
  cp "$requirements" "$packages/requirements.txt"
fi
