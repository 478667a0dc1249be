#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# usage: check_locked.sh CMAKE ROOT SCRIPT: what comes from a package index is pinned, and the script
# that a report embeds is refused where one byte of it changed.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
module=$2/src/cmake/KappascopePlotly.cmake
"$1" -DKAPPASCOPE_PLOTLY_JS="$3" -P "$module"
sed '$s/$/ /' "$3" >"$work/changed.js"
if "$1" -DKAPPASCOPE_PLOTLY_JS="$work/changed.js" -P "$module" 2>"$work/said"; then
  echo "a changed script was accepted" >&2
  exit 1
fi
grep -q KAPPASCOPE_PLOTLY_SHA256= "$work/said"

version=$(sed -n 's/^set(_kappascope_plotly plotly==\(.*\))$/\1/p' "$module")
grep -qF "plotly==$version\"" "$2/python/pyproject.toml"
grep -qxF "plotly==$version" "$2/python/requirements/build.in"
# Every requirement has its version and, on the lines below it, a hash.
for locked in "$2"/python/requirements/*.txt; do
  awk -v file="$locked" '
    /^[a-z0-9]/ { if (name != "" && !hashed) bad = name; name = $1; hashed = 0; if (name !~ /==/) bad = name }
    /--hash=sha256:[0-9a-f]+/ { hashed = 1 }
    END { if (name == "" || !hashed || bad != "") { print file ": without version or hash: " bad name; exit 1 } }' "$locked" >&2
done
