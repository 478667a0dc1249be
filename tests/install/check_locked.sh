#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# usage: check_locked.sh ROOT: what comes from a package index is pinned.
set -euo pipefail
cd "$1"
# Every requirement has its version and, on the lines below it, a hash.
for locked in python/requirements/*.txt python/requirements/torch/*.txt; do
  awk -v file="$locked" '
    /^[a-z0-9]/ { if (name != "" && !hashed) bad = name; name = $1; hashed = 0; if (name !~ /==/) bad = name }
    /--hash=sha256:[0-9a-f]+/ { hashed = 1 }
    END { if (name == "" || !hashed || bad != "") { print file ": without version or hash: " bad name; exit 1 } }' "$locked" >&2
done
# Scripts install those alone, but for the one that asks what users get and the one that makes the pins.
bare=$(grep -rnIE 'pip"?,? "?(install|download)([^a-z]|$)' quickstart .ci python tests benchmarks experiments docs examples theory --exclude='*.md' --exclude-dir=kappascope |
  grep -vE -- '--require-hashes|--no-index|--no-build-isolation|^tests/(install/check_locked.sh|python/package_test.py):' |
  grep -vE '^python/(wheels/test|requirements/lock):' || true)
[ -z "$bare" ] || { echo "installs what is not pinned: $bare" >&2; exit 1; }
grep -q '^requires = \["setuptools>=' python/pyproject.toml || { echo "SECURITY.md says how pip builds the package" >&2; exit 1; }
