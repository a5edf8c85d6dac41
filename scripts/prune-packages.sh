#!/bin/sh
# Removes what no process reads from the production packages in ./node_modules: type declarations, the sources that packages
# were built from, source maps. That is most of their size.
set -eu
find node_modules -type f \( -name '*.ts' -o -name '*.mts' -o -name '*.cts' -o -name '*.map' -o -name '*.tsbuildinfo' \) -delete
find node_modules -type d -empty -delete
