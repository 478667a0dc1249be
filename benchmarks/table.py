#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the benchmark programs and prints each number as a ratio within one run against its limit.

usage: table.py FOLDER_OF_PROGRAMS [--quick]
"""
import json
import math
import statistics
import subprocess
import sys

NORMAL_95 = statistics.NormalDist().inv_cdf(0.975)


def measure(program, pattern, repetitions):
    """(seconds of base, seconds of ours) of every repetition by benchmark name."""
    out = subprocess.run(
        [program, "--benchmark_format=json", f"--benchmark_filter={pattern}",
         f"--benchmark_repetitions={repetitions}"],
        check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True).stdout
    found = {}
    for row in json.loads(out)["benchmarks"]:
        if row["run_type"] == "iteration":
            name = row["run_name"].removesuffix("/iterations:1")
            found.setdefault(name, []).append((row["base"], row["ours"]))
    return found


def typical(pairs):
    """Median of the repetitions' ratios and half of its 95 % interval, by the ranks around it."""
    ratios = sorted(ours / base for base, ours in pairs)
    reach = 0.98 * len(ratios) ** 0.5
    low = max(0, math.floor(len(ratios) / 2 - reach))
    high = min(len(ratios), math.ceil(len(ratios) / 2 + reach)) - 1
    return statistics.median(ratios), (ratios[high] - ratios[low]) / 2


def overall(pairs):
    """Ratio of the totals, for work that falls into a few of the repetitions; the error is the
    machine's noise in the other ones (by the median absolute deviation)."""
    base, ours = (sum(side) for side in zip(*pairs))
    ratios = [ours / base for base, ours in pairs]
    middle = statistics.median(ratios)
    noise = 1.4826 * statistics.median(abs(ratio - middle) for ratio in ratios)
    return ours / base, NORMAL_95 * noise / len(ratios) ** 0.5


def peak_memory(program, model, mode, runs=3):
    """The largest of the runs, in KiB."""
    return max(int(subprocess.run([program, "--memory", model, mode], check=True,
                                  stdout=subprocess.PIPE, text=True).stdout) for _ in range(runs))


def scale_memory(program):
    """(bytes of base, bytes of ours) at the peak of a pass, by name; the same in every run."""
    out = subprocess.run([program, "--memory"], check=True, stdout=subprocess.PIPE, text=True).stdout
    return {name: (int(base), int(ours)) for name, base, ours in (line.split() for line in out.splitlines())}


def main():
    folder = sys.argv[1]
    quick = "--quick" in sys.argv
    rows = []

    def add(what, pairs, limit, average=typical):
        rows.append((what, *average(pairs), limit))

    def run(name, pattern, repetitions):
        return measure(f"{folder}/{name}_benchmark", pattern, 3 if quick else repetitions)

    moments = run("moments", ".", 15)
    for d, limit in ((2048, 0.65), (512, 0.75)):
        add(f"moment update / full product, d = {d}", moments[f"moments/{d}"], limit)
    curvature = run("curvature", "curvature/", 15)
    for model in ("lm", "mlp"):
        add(f"Hessian-vector product / gradient, {model}", curvature[f"curvature/{model}"], 2.1)
    preconditioned = run("curvature", "preconditioned/", 15)
    for model in ("lm", "mlp"):
        add(f"preconditioned product / Hessian-vector product, {model}",
            preconditioned[f"preconditioned/{model}"], 1.05)
    gauss_newton = run("curvature", "gauss_newton/", 15)
    for model in ("lm", "mlp"):
        add(f"Gauss-Newton product / gradient, {model}", gauss_newton[f"gauss_newton/{model}"], 1.5)
    eigenpairs = run("curvature", "eigenpairs", 5)
    for model in ("lm", "mlp"):
        add(f"top 5 eigenpairs to 1e-3 / the same number of bare products, {model}",
            eigenpairs[f"eigenpairs_bare/{model}"], None)
        add(f"top 5 eigenpairs, vectors beside the parameters / on the host in double, {model}",
            eigenpairs[f"eigenpairs_host/{model}"], None)
    every_step = run("training", "every_step", 15)
    for model, limit in (("lm", 1.12), ("mlp", 1.20)):
        add(f"step with exact moments every step / step, {model}", every_step[f"training/{model}/every_step"], limit)
    # 50 · 20 steps: five intervals of the schedule.
    default = run("training", "default", 50)
    for model in ("lm", "mlp"):
        add(f"step at the default schedule / step, {model}", default[f"training/{model}/default"], 1.02,
            overall)
    scale = run("scale", ".", 15)
    memory = scale_memory(f"{folder}/scale_benchmark")
    for name, what, time_limit, memory_limit in (
            ("micro_batch", "micro-batches of 256 tokens / 1,024 at once", 1.10, 0.4),
            ("micro_batch_4096", "micro-batches of 1,024 tokens / 4,096 at once", 1.10, 0.4),
            ("recompute", "recomputed blocks / kept ones", 1.4, None),
            ("logits", "256 rows of logits at a time / all 4,096, 27,008 words", 1.1, 0.3)):
        add(f"time: {what}", scale[f"scale/{name}"], time_limit)
        base, ours = memory[name]
        rows.append((f"peak memory of a pass: {what}", ours / base, None, memory_limit))
    program = f"{folder}/training_benchmark"
    plain = peak_memory(program, "lm", "plain")
    rows.append(("peak memory at the default schedule / training alone, lm",
                 peak_memory(program, "lm", "default") / plain, None, 1.1))
    rows.append(("peak memory with the Hessian probe / training alone, lm",
                 peak_memory(program, "lm", "hessian", runs=1) / plain, None, None))

    print(f"{'ratio':>8} {'± 95 %':>8} {'limit':>8}  what")
    for what, ratio, error, limit in rows:
        about = "" if error is None else f"{error:.3f}"
        bound = "-" if limit is None else f"{limit:.2f}"
        mark = "" if limit is None or ratio <= limit else "   OVER"
        print(f"{ratio:8.3f} {about:>8} {bound:>8}  {what}{mark}")


if __name__ == "__main__":
    main()
