#!/bin/sh
# Stands in for a program that needs an account, while `npm run release:dry` runs the scripts of the release pipelines: it
# records how it was called, leaves behind what they read afterwards, and refuses a file that is not there. SVC_DRY_CALLS names
# the record: program, input, number of arguments and arguments, each followed by a zero byte.
set -eu
program=${0##*/}
case "$program ${1-}" in
  "npm ci" | "helm registry" | "helm push") ;;
  npm\ * | helm\ *)
    PATH=$SVC_DRY_PATH
    exec "$program" "$@"
    ;;
esac

input=
before=
for arg in "$@"; do
  case "$before $arg" in
    *" --password-stdin") input=$(cat) ;;
    "--data @"*) input=$(cat "${arg#@}") ;;
    "--metadata-file "*) printf '{"containerimage.digest": "%s"}\n' "$SVC_DRY_DIGEST" >"$arg" ;;
    "--bundle "*) echo '{}' >"$arg" ;;
    *" release/"*)
      if [ ! -f "$arg" ]; then
        echo "$program: there is no $arg" >&2
        exit 1
      fi
      ;;
  esac
  before=$arg
done
printf '%s\0' "$program" "$input" "$#" "$@" >>"$SVC_DRY_CALLS"
# On standard error, as Helm does.
if [ "$program ${1-}" = "helm push" ]; then
  printf 'Pushed: %s\nDigest: %s\n' "$3" "$SVC_DRY_DIGEST" >&2
fi
