#!/usr/bin/env bash
# The main job on the simulated cloud: demo.sh BIN
# It keeps to a folder of its own and leaves nothing behind.
set -euo pipefail
bin=$(cd "$1" && pwd)
work=$(mktemp -d)
export PATH="$bin:$PATH" HOME="$work" XDG_STATE_HOME="$work/state" XDG_CONFIG_HOME="$work/config" KUBECONFIG="$work/kubeconfig"
unset SLIPWAY_STATE_STORE SLIPWAY_CLUSTER AWS_PROFILE AWS_ENDPOINT_URL
trap 'slipway sim stop >/dev/null 2>&1 || true; rm -rf "$work"' EXIT

name=demo.example.com
begin=$(date +%s)
say() { printf '\n\033[1m$ %s\033[0m\n' "$*"; }
run() { say "$@"; "$@"; }

run slipway sim start
say 'eval "$(slipway sim env)"'
eval "$(slipway sim env)"
run slipway create cluster $name --zones us-east-1a,us-east-1b,us-east-1c
say slipway update cluster $name
slipway update cluster $name > "$work/plan"
head -40 "$work/plan"
echo "  ... $(($(wc -l < "$work/plan") - 45)) lines more ..."
tail -5 "$work/plan"
run slipway update cluster $name --yes > "$work/apply" 2> "$work/progress" || { cat "$work/progress"; exit 1; }
tail -1 "$work/progress"
run slipway update cluster $name --detailed-exitcode
echo "(exit 0: nothing is pending)"
run slipway set instancegroup nodes-us-east-1a --cluster $name maxSize=3
say slipway update cluster $name --detailed-exitcode
slipway update cluster $name --detailed-exitcode && { echo "a change was expected"; exit 1; } || test $? = 2
echo "(exit 2: a change is pending)"
run slipway update cluster $name --yes
run slipway delete cluster $name --yes > "$work/delete" 2> "$work/progress" || { cat "$work/progress"; exit 1; }
tail -1 "$work/delete"
run slipway sim status
printf '\nThe whole took %s s.\n' $(($(date +%s) - begin))
