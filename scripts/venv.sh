#!/usr/bin/env bash
# Makes the Python environment of the outside judges: venv.sh DIR
set -euo pipefail
dir=$1
here=$(cd "$(dirname "$0")/.." && pwd)
rm -rf "$dir"
mkdir -p "$(dirname "$dir")"
trap 'rm -rf "$dir"' ERR INT TERM
python3 -m venv "$dir"
# moto_server is what make looks for: pip writes it last, when all else is there.
"$dir/bin/python" -m pip install --quiet --disable-pip-version-check -r "$here/.ci/requirements.txt"
