#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# usage: check_own_loop.sh PROGRAM KAPPASCOPE: the program makes a run that the tools can read.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$1" "$work/run"
"$1" "$work/run"  # a second start finds a name of its own
[ "$("$2" runs "$work" --json | grep -c '"state":"finished"')" = 2 ]
"$2" export "$work/run" --format csv >"$work/run.csv"
for name in loss/train kappa/sigma kappa/second_moment gradvar/measured hessian/lambda_1 cost/total; do
  grep -q ",$name," "$work/run.csv" || { echo "the run has no $name" >&2; exit 1; }
done
"$2" report "$work/run" --out "$work/report.html"
grep -q "kappa" "$work/report.html"
