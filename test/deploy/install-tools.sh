#!/usr/bin/env bash
# Installs the programs that `npm run check:deploy` needs, in the versions that it was tried with, into $(go env GOPATH)/bin.
set -euo pipefail
# Nobody needs them to be fast: without optimisation and debug information they are built in half the time.
export CGO_ENABLED=0 GOGC=400
install=(go install -gcflags='all=-N -l -dwarf=false' -ldflags='-s -w')
"${install[@]}" helm.sh/helm/v3/cmd/helm@v3.21.3
"${install[@]}" sigs.k8s.io/kustomize/kustomize/v5@v5.8.1
"${install[@]}" github.com/yannh/kubeconform/cmd/kubeconform@v0.8.0
