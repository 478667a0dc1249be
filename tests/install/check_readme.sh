#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# usage: check_readme.sh README: the program in the README is the one that is tested, and short.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
diff <(sed -n '/^## Attach/,$p' "$1" | sed -n '/^```cpp$/,/^```$/p' | sed '1d;$d') "$here/own_loop.cpp"
[ "$(wc -l <"$here/own_loop.cpp")" -le 40 ]
