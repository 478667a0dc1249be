#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# usage: check_locked.sh ROOT: what comes from a package index is pinned.
set -euo pipefail
# Every requirement has its version and, on the lines below it, a hash.
for locked in "$1"/python/requirements/*.txt; do
  awk -v file="$locked" '
    /^[a-z0-9]/ { if (name != "" && !hashed) bad = name; name = $1; hashed = 0; if (name !~ /==/) bad = name }
    /--hash=sha256:[0-9a-f]+/ { hashed = 1 }
    END { if (name == "" || !hashed || bad != "") { print file ": without version or hash: " bad name; exit 1 } }' "$locked" >&2
done
