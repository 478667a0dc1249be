#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every tool in turn on the same weights and batch: results as JSON, tables as Markdown.

usage: run.py OUT_FOLDER [--quick] [--only PROBLEM] [--part PART...] [--device DEVICE] [--tolerance T...]

OUT_FOLDER keeps the trained weights, results.json and table.md. --quick: a minute, the first
problem, one round. --only, --part: one problem, one part; they replace those in results.json.
Exits with 1 where kappascope says that it has converged and a float64 product does not confirm it.
"""
import argparse
import json
import os
import sys
import time

import torch

import measures
import problems
import table
import tools
import truth


PARTS = ("products", "top-1", "top-5", "top-10", "density", "trace", "tracking")


def say(text):
    print(f"[{time.perf_counter() - STARTED:5.0f} s] {text}", file=sys.stderr, flush=True)


def versions():
    from importlib.metadata import PackageNotFoundError, version
    found = {}
    for name in ("torch", "PyHessian", "hessian-eigenthings", "curvlinops-for-pytorch", "scipy"):
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = "missing"
    if tools.kappascope:
        found["kappascope"] = tools.kappascope.__version__
    return found


def machine(device):
    if device != "cpu":
        return torch.cuda.get_device_name(device)
    with open("/proc/cpuinfo") as file:
        model = next((line.split(":")[1].strip() for line in file if line.startswith("model name")), "CPU")
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    return f"{model}, {os.cpu_count()} cores, {memory:.0f} GiB, {torch.get_num_threads()} threads"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("out")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--only", choices=problems.NAMES)
    parser.add_argument("--part", choices=PARTS, nargs="*")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--tolerance", type=float, nargs="*", help="of the eigenpairs; default 1e-3 and 1e-6, with --quick 1e-3")
    options = parser.parse_args()
    os.makedirs(options.out, exist_ok=True)
    path = os.path.join(options.out, "results.json")
    results = {"problems": {}}
    if (options.only or options.part) and os.path.exists(path):
        with open(path) as file:
            results = json.load(file)
    results |= {"versions": versions(), "machine": machine(options.device), "date": time.strftime("%Y-%m-%d")}
    names = [options.only] if options.only else problems.NAMES[:1] if options.quick else problems.NAMES
    if not tools.kappascope:
        say("kappascope is not installed in this environment: the peers alone")
    for name in names:
        for found in measure(name, options):
            results["problems"][name] = results["problems"].get(name, {}) | found
            with open(f"{path}.new", "w") as file:
                json.dump(results, file, indent=1)
            os.replace(f"{path}.new", path)
    text = table.markdown(results)
    with open(os.path.join(options.out, "table.md"), "w") as file:
        file.write(text)
    print(text)
    return 1 if untrue(results) else 0


def untrue(results):
    """What our residuals claim and the truth does not confirm: by more than a factor of two, or with
    pairs missing from the top."""
    wrong = [f"{name}: {row['tool']}, top {row['k']} to {row['tol']:g}: claimed {row['claimed']:.1e}, "
             f"true {row['residual']:.1e}{'' if row['right'] else ', not the top'}"
             for name, problem in results["problems"].items() for row in table.all_pairs(problem)
             if table.ours(row["tool"]) and (row["residual"] > 2 * row["claimed"] or not row["right"])]
    for line in wrong:
        say(f"not true: {line}")
    return wrong


def measure(name, options):
    """One part after the other."""
    quick = options.quick
    tolerances = options.tolerance or ((1e-3,) if quick else (1e-3, 1e-6))
    say(f"{name}: training")
    problem = problems.load(name, options.out, options.device)
    say(f"{name}: reference in float64")
    exact = truth.float64_product(problem)
    top = truth.reference(exact, 5 if quick else 10)
    yield {"parameters": exact.size, "loss": problem.loss().item(), "top": top.tolist()}
    bench = measures.Bench(problem, exact, top, quick, say)
    for key in options.part or PARTS:
        if key.startswith("top-"):
            k = int(key[4:])
            if k <= len(top):
                yield {key: [row for tol in tolerances for row in bench.pairs(k, tol)]}
        elif key == "trace" and name != problems.NAMES[0] or key == "tracking" and (quick or not tools.OURS):
            continue
        else:
            yield {key: getattr(bench, key)()}


if __name__ == "__main__":
    STARTED = time.perf_counter()
    sys.exit(main())
