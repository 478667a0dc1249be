#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the benchmark programs and prints each number as a ratio within one run against its limit.

usage: table.py FOLDER_OF_PROGRAMS [--quick]
"""
import json
import statistics
import subprocess
import sys


def times(program, repetitions):
    """Real times of every repetition by benchmark name; repetitions of all are interleaved."""
    out = subprocess.run(
        [program, "--benchmark_format=json", f"--benchmark_repetitions={repetitions}",
         "--benchmark_enable_random_interleaving=true"],
        check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True).stdout
    found = {}
    for row in json.loads(out)["benchmarks"]:
        if row["run_type"] == "iteration":
            found.setdefault(row["run_name"].removesuffix("/iterations:1"), []).append(row["real_time"])
    return found


def peak_memory(program, model, mode):
    return int(subprocess.run([program, "--memory", model, mode], check=True,
                              stdout=subprocess.PIPE, text=True).stdout)


def main():
    folder = sys.argv[1]
    quick = "--quick" in sys.argv
    rows = []

    def add(what, found, name, against, limit, average=statistics.median):
        rows.append((what, average(found[name]) / average(found[against]), limit))

    moments = times(f"{folder}/moments_benchmark", 3 if quick else 15)
    for d, limit in ((2048, 0.65), (512, 0.75)):
        add(f"moment update / full product, d = {d}", moments, f"moment_update/{d}", f"full_product/{d}", limit)
    curvature = times(f"{folder}/curvature_benchmark", 3 if quick else 15)
    for model in ("lm", "mlp"):
        add(f"Hessian-vector product / gradient, {model}", curvature, f"hessian_product/{model}",
            f"gradient/{model}", 2.1)
    training = times(f"{folder}/training_benchmark", 3 if quick else 31)
    for model, limit in (("lm", 1.12), ("mlp", 1.20)):
        add(f"step with exact moments every step / step, {model}", training,
            f"training/{model}/every_step", f"training/{model}/plain", limit)
    for model in ("lm", "mlp"):
        # The mean: an emission falls into a few of the repetitions only.
        add(f"step at the default schedule / step, {model}", training, f"training/{model}/default",
            f"training/{model}/plain", 1.02, statistics.mean)
    program = f"{folder}/training_benchmark"
    plain = peak_memory(program, "lm", "plain")
    rows.append(("peak memory at the default schedule / training alone, lm",
                 peak_memory(program, "lm", "default") / plain, 1.1))
    rows.append(("peak memory with the Hessian probe / training alone, lm",
                 peak_memory(program, "lm", "hessian") / plain, None))

    print(f"{'ratio':>8} {'limit':>8}  what")
    for what, ratio, limit in rows:
        bound = "-" if limit is None else f"{limit:.2f}"
        mark = "" if limit is None or ratio <= limit else "   OVER"
        print(f"{ratio:8.3f} {bound:>8}  {what}{mark}")


if __name__ == "__main__":
    main()
