# SPDX-License-Identifier: Apache-2.0
"""
A study from a file
===================

A study trains arms over seeds, each run in a process of its own, and compares every arm with the first in pairs of one
seed. ``kappascope sweep`` is part of the source build (``./quickstart``), as the trainer is.
"""

import argparse
import os
import subprocess
from pathlib import Path
from tempfile import mkdtemp

import matplotlib.image
import matplotlib.pyplot as plt

folder = Path(mkdtemp())
program = os.environ.get("KAPPASCOPE_PROGRAM", "kappascope")


def run(*arguments):
    words = [program, *arguments]
    done = subprocess.run(words, cwd=folder, check=True, capture_output=True, text=True)
    return done.stdout


# %%
# The sections are those of a configuration of the trainer. ``[study]`` says how many seeds and what is compared, ``[arms]``
# what differs. The text is a module of Python's library, byte by byte.
(folder / "text.txt").write_text(Path(argparse.__file__).read_text())
(folder / "study.ini").write_text("""
[data]
path = text.txt
context = 32
[model]
kind = language
width = 32
hidden = 64
blocks = 2
heads = 2
[train]
learning-rate = 3e-3
batch = 8
steps = 120
eval-every = 60
[probes]
every = 40
hessian = false
[study]
seeds = 3
metrics = loss/test
[arms]
no bias = model.bias=none
post-gating bias = model.bias=post-gating
output bias = model.bias=output
""")
print(run("sweep", "study.ini", "--list"))

# %%
# The same command again goes on where it was interrupted. A difference that is not significant has the size that these runs
# would have shown ("detectable").
print(run("sweep", "study.ini", "--out", "runs", "--jobs", "2"))

# %%
# The folder holds every run, ``RESULTS.md`` and what ``kappascope results`` combines with other studies. A page of it:
run("report", "runs", "--out", "page.html", "--figures", "figures", "--format", "png")
plt.figure(figsize=(8, 5))
plt.imshow(matplotlib.image.imread(folder / "figures/overview.png"))
plt.axis("off")
plt.tight_layout()
