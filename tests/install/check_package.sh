#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# usage: check_package.sh CMAKE BUILD_DIR COMPILER: installs, then builds and runs a user's project
# that knows the package by find_package alone; then one of layers that need no LibTorch, where there
# is none.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$1" --install "$2" --prefix "$work/installed" >/dev/null
"$1" -G Ninja -S "$here/consumer" -B "$work/build" -DCMAKE_PREFIX_PATH="$work/installed" -DCMAKE_CXX_COMPILER="$3" >"$work/log" 2>&1 ||
  { cat "$work/log" >&2; exit 1; }
"$1" --build "$work/build" >"$work/log" 2>&1 || { cat "$work/log" >&2; exit 1; }
"$work/build/own_loop" "$work/run"
"$work/build/top5" >/dev/null
"$1" -G Ninja -S "$here/without_torch" -B "$work/plain" -DCMAKE_PREFIX_PATH="$work/installed" -DCMAKE_CXX_COMPILER="$3" >"$work/log" 2>&1 ||
  { cat "$work/log" >&2; exit 1; }
"$1" --build "$work/plain" >"$work/log" 2>&1 || { cat "$work/log" >&2; exit 1; }
"$work/plain/kappa" >/dev/null
"$work/installed/bin/kappascope" runs "$work" --json | grep -q '"state":"finished"'
