#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# usage: check_package.sh CMAKE BUILD_DIR COMPILER: installs, then builds and runs a user's project
# that knows the package by find_package alone; then, from the archive and from the Debian package,
# one of layers that need no LibTorch, where there is none.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
quietly() { "$@" >"$work/log" 2>&1 || { cat "$work/log" >&2; exit 1; }; }
build() { # PROJECT INSTALLED
  quietly "$cmake" -G Ninja -S "$here/$1" -B "$work/build" -DCMAKE_PREFIX_PATH="$2" -DCMAKE_CXX_COMPILER="$compiler" --fresh
  quietly "$cmake" --build "$work/build"
}
cmake=$1
compiler=$3
"$cmake" --install "$2" --prefix "$work/installed" >/dev/null
build consumer "$work/installed"
"$work/build/own_loop" "$work/run"
"$work/build/top5" >/dev/null
"$work/installed/bin/kappascope" runs "$work" --json | grep -q '"state":"finished"'

quietly "$(dirname "$cmake")/cpack" --config "$2/CPackConfig.cmake" -G "TGZ;DEB" -B "$work/packages"
mkdir "$work/archive"
tar -xzf "$work"/packages/*.tar.gz -C "$work/archive"
dpkg-deb -x "$work"/packages/*.deb "$work/debian"
for installed in "$work/archive" "$work/debian/usr"; do
  [ ! -e "$installed/bin" ]
  build without_torch "$installed"
  "$work/build/kappa" >/dev/null
done
