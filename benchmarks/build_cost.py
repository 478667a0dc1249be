#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What compiling costs, layer by layer: core-seconds from nothing, without a compiler cache.

    benchmarks/build_cost.py [--source CHECKOUT] [--target TARGET] [--log build/release/.ninja_log]

Configures the preset release of CHECKOUT (this one) in a temporary folder, builds TARGET (the
program) and prints the seconds of compiling by folder. The commands' own durations
are added up, so the machine should have nothing else to do. --log reads the log of a build that was
made already; of a file compiled more than once the last time counts.
"""
import argparse
import collections
import os
import subprocess
import sys
import tempfile
from pathlib import Path


def durations(log):
    """{output: seconds} of a .ninja_log (start and end in ms, mtime, output, hash)."""
    seconds = {}
    for line in log.read_text().splitlines()[1:]:
        start, end, _, output, _ = line.split("\t")
        seconds[output] = (int(end) - int(start)) / 1000
    return seconds


def print_table(seconds):
    layers, files = collections.Counter(), collections.Counter()
    for output, time in seconds.items():
        if "/CMakeFiles/" in output and output.endswith((".o", ".gch")):
            layer = output.split("/CMakeFiles/")[0]
            layers[layer] += time
            files[layer] += 1
    print(f"{'core-seconds':>12}  {'objects':>7}  layer")
    for layer, time in layers.most_common():
        print(f"{time:12.0f}  {files[layer]:7d}  {layer}")
    print(f"{sum(layers.values()):12.0f}  {sum(files.values()):7d}  all")


def build(source, target):
    environment = dict(os.environ, CCACHE_DISABLE="1")
    with tempfile.TemporaryDirectory() as folder:
        configure = ["cmake", "--preset", "release", "-B", folder, "-DKAPPASCOPE_BUILD_TESTS=ON"]
        subprocess.run(configure, cwd=source, check=True, stdout=subprocess.DEVNULL)
        subprocess.run(["ninja", "-C", folder, target], env=environment, check=True, stdout=sys.stderr)
        return durations(Path(folder) / ".ninja_log")


def main():
    here = Path(__file__).resolve().parent.parent
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--source", type=Path, default=here, help="a checkout with LibTorch in its .venv")
    parser.add_argument("--target", default="kappascope_cli", help="what to build (kappascope_cli)")
    parser.add_argument("--log", type=Path, help="a .ninja_log to read in place of building")
    arguments = parser.parse_args()
    print_table(durations(arguments.log) if arguments.log else build(arguments.source, arguments.target))


if __name__ == "__main__":
    main()
