#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the benchmark programs and prints each number as a ratio within one run against its limit.

usage: table.py FOLDER_OF_PROGRAMS [--quick]
"""
import json
import statistics
import subprocess
import sys


def ratios(program, pattern, repetitions):
    """ours / base of every repetition by benchmark name; a benchmark runs its two sides in turn."""
    out = subprocess.run(
        [program, "--benchmark_format=json", f"--benchmark_filter={pattern}",
         f"--benchmark_repetitions={repetitions}"],
        check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True).stdout
    found = {}
    for row in json.loads(out)["benchmarks"]:
        if row["run_type"] == "iteration":
            name = row["run_name"].removesuffix("/iterations:1")
            found.setdefault(name, []).append(row["ours"] / row["base"])
    return found


def spread(values):
    """Half the width of the 95 % interval of the mean of the repetitions."""
    return 1.96 * statistics.stdev(values) / len(values) ** 0.5


def peak_memory(program, model, mode):
    return int(subprocess.run([program, "--memory", model, mode], check=True,
                              stdout=subprocess.PIPE, text=True).stdout)


def main():
    folder = sys.argv[1]
    quick = "--quick" in sys.argv
    rows = []

    def add(what, values, limit, average=statistics.median):
        rows.append((what, average(values), spread(values), limit))

    def run(name, pattern, repetitions):
        return ratios(f"{folder}/{name}_benchmark", pattern, 3 if quick else repetitions)

    moments = run("moments", ".", 15)
    for d, limit in ((2048, 0.65), (512, 0.75)):
        add(f"moment update / full product, d = {d}", moments[f"moments/{d}"], limit)
    curvature = run("curvature", ".", 15)
    for model in ("lm", "mlp"):
        add(f"Hessian-vector product / gradient, {model}", curvature[f"curvature/{model}"], 2.1)
    every_step = run("training", "every_step", 11)
    for model, limit in (("lm", 1.12), ("mlp", 1.20)):
        add(f"step with exact moments every step / step, {model}", every_step[f"training/{model}/every_step"], limit)
    # 31 · 20 steps; the mean, as an emission falls into a few of the repetitions only.
    default = run("training", "default", 31)
    for model in ("lm", "mlp"):
        add(f"step at the default schedule / step, {model}", default[f"training/{model}/default"], 1.02,
            statistics.mean)
    program = f"{folder}/training_benchmark"
    plain = peak_memory(program, "lm", "plain")
    rows.append(("peak memory at the default schedule / training alone, lm",
                 peak_memory(program, "lm", "default") / plain, None, 1.1))
    rows.append(("peak memory with the Hessian probe / training alone, lm",
                 peak_memory(program, "lm", "hessian") / plain, None, None))

    print(f"{'ratio':>8} {'± 95 %':>8} {'limit':>8}  what")
    for what, ratio, error, limit in rows:
        about = "" if error is None else f"{error:.3f}"
        bound = "-" if limit is None else f"{limit:.2f}"
        mark = "" if limit is None or ratio <= limit else "   OVER"
        print(f"{ratio:8.3f} {about:>8} {bound:>8}  {what}{mark}")


if __name__ == "__main__":
    main()
