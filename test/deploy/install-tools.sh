#!/usr/bin/env bash
# Installs the programs that `npm run check:deploy` needs, in the versions that it was tried with, into $(go env GOPATH)/bin.
set -euo pipefail
go install helm.sh/helm/v3/cmd/helm@v3.21.3
go install sigs.k8s.io/kustomize/kustomize/v5@v5.8.1
