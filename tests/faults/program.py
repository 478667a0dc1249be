# SPDX-License-Identifier: Apache-2.0
"""The program under test behind the shim of faulty.cpp: loaded once, forked for every run."""
import json
import os
import pathlib
import random
import shutil
import signal
import sqlite3
import struct
import subprocess
import tempfile

KINDS = ["none", "memory", "write", "sync", "rename", "read", "map", "kill"]
SECONDS = 60  # after which a run counts as hung

# A gated network that learns three classes of 6 x 6 images, a few steps of it.
TRAIN = (
    "--model.width 6 --model.hidden 8 --model.blocks 1 --train.batch 16 --train.steps 6 "
    "--train.checkpoint-every 2 --train.threads 1 --probes.every 3 --probes.window 2 --probes.budget 0 "
    "--probes.hessian false"
).split()


def tools_of(program):
    """The folder where the build puts shims and helpers, for BUILD/bin/kappascope."""
    return pathlib.Path(program).resolve().parent.parent / "tests" / "faults"


def write_images(folder):
    folder.mkdir(parents=True)
    chance = random.Random(1)
    for prefix, count in (("train", 96), ("t10k", 24)):
        labels = bytes(i % 3 for i in range(count))
        images = bytes(
            chance.randrange(120) + (100 if pixel // 12 == label else 0)
            for label in labels
            for pixel in range(36)
        )
        (folder / f"{prefix}-images-idx3-ubyte").write_bytes(
            struct.pack(">IIII", 0x803, count, 6, 6) + images
        )
        (folder / f"{prefix}-labels-idx1-ubyte").write_bytes(
            struct.pack(">II", 0x801, count) + labels
        )


def write_study(file):
    settings = dict(zip((w[2:] for w in TRAIN[::2]), TRAIN[1::2]))
    lines = ["[data]", "path = data", "[study]", "seeds = 1", "metrics = loss/test", "[arms]"]
    lines += ["no bias = model.bias=none", "PGB = model.bias=post-gating"]
    for section in ("model", "train", "probes"):
        lines.append(f"[{section}]")
        lines += [
            f"{name.split('.')[1]} = {value}"
            for name, value in settings.items()
            if name.startswith(section + ".")
        ]
    file.write_text("\n".join(lines) + "\n")


class Result:
    def __init__(self, line, output):
        status, hit, library, frames, *counts = line.split("\t")
        status = int(status)
        self.signal = os.WTERMSIG(status) if os.WIFSIGNALED(status) else 0
        self.status = os.WEXITSTATUS(status) if os.WIFEXITED(status) else 128 + self.signal
        self.hit = hit == "1"
        self.library, self.frames = library, frames
        self.counts = dict(zip(KINDS, map(int, counts)))
        self.out = pathlib.Path(output + ".out").read_text(errors="replace")
        self.err = pathlib.Path(output + ".err").read_text(errors="replace")

    def why(self):
        if self.signal == signal.SIGALRM:
            return f"hung for {SECONDS} s"
        return f"signal {self.signal}" if self.signal else f"exit {self.status}"


class Program:
    """Runs the program; a fault is (kind, n, errno, whether the calls after it fail too)."""

    def __init__(self, program, tools):
        self.program = os.path.abspath(program)
        environment = dict(os.environ, LD_PRELOAD=str(tools / "libfaulty.so"))
        environment.update(KAPPASCOPE_FAULT_SERVER="1", TZ="UTC", TMPDIR=tempfile.gettempdir())
        self.server = subprocess.Popen(
            [self.program],
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def close(self):
        self.server.stdin.close()
        self.server.wait()

    def run(self, arguments, folder, fault=("none", 0, 0, False)):
        kind, n, error, stays = fault
        output = str(folder).rstrip("/") + "-output"
        words = [KINDS.index(kind), n, error, int(stays), SECONDS, folder, output, *arguments]
        self.server.stdin.write("\t".join(map(str, words)) + "\n")
        self.server.stdin.flush()
        answer = self.server.stdout.readline()
        if not answer:
            raise SystemExit("the program under test could not be started behind the shim")
        return Result(answer.rstrip("\n"), output)

    def places(self, arguments, folder, kind):
        """Of each call of a kind, a number that calls of the same stack share."""
        self.run(arguments, folder, (kind, 0, 0, False))
        with open(str(folder).rstrip("/") + "-output.places", "rb") as file:
            return [number for (number,) in struct.iter_unpack("=Q", file.read())]


class StoreChecker:
    """store_writer check: what is left of a run, without LibTorch."""

    def __init__(self, tools, go_on=False):
        self.process = subprocess.Popen(
            [tools / "store_writer", "check"] + (["--go-on"] if go_on else []),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def ask(self, run):
        self.process.stdin.write(f"{run}\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline()
        return json.loads(answer) if answer else {"there": True, "error": "the check itself died"}

    def close(self):
        self.process.stdin.close()
        self.process.wait()


class Scratch:
    """A folder in memory where there is one, gone at the end."""

    def __enter__(self):
        memory = "/dev/shm"
        room = os.access(memory, os.W_OK) and shutil.disk_usage(memory).free > 1 << 29
        self.path = pathlib.Path(tempfile.mkdtemp(prefix="kappascope-", dir=memory if room else None))
        return self.path

    def __exit__(self, *ignored):
        shutil.rmtree(self.path, ignore_errors=True)


def prepare(program, folder, needed):
    """base/: data, a study, a run that has ended, its outputs, and, where needed, a sweep's folder."""
    write_images(folder / "data")
    write_study(folder / "study.ini")
    for words in (
        ["train", "--data", "data", *TRAIN, "--out", "run"],
        ["report", "run", "--out", "page.html"],
        ["export", "run", "--out", "numbers.csv"],
        ["export", "run", "--format", "npz", "--out", "numbers.npz"],
        ["sweep", "study.ini", "--out", "swept"],
    ):
        if words[0] == "sweep" and "swept" not in needed:
            continue
        done = program.run(words, folder)
        if done.status != 0:
            raise SystemExit(f"kappascope {' '.join(words)}: {done.why()}\n{done.err}")


def contents(folder):
    """path -> bytes of every file, the logs of SQLite left out."""
    out = {}
    for path in sorted(folder.rglob("*")):
        if path.is_file() and not path.name.endswith(("-wal", "-shm")):
            out[str(path.relative_to(folder))] = path.read_bytes()
    return out


def training_state(checkpoint):
    """name -> shape and bytes of each tensor of a checkpoint, but for those of the session."""
    (length,) = struct.unpack("<Q", checkpoint[:8])
    heads, data = json.loads(checkpoint[8 : 8 + length]), checkpoint[8 + length :]
    return {
        name: (head["shape"], data[slice(*head["data_offsets"])])
        for name, head in heads.items()
        if name != "__metadata__" and not name.startswith("session/")
    }


def left_over(paths):
    """Files that no command leaves when it ends in peace."""
    return [p for p in paths if p.endswith((".partial", "-journal")) or ".new" in p]


def rows_of(database):
    """What a run holds, but for what two equal runs differ in: times, costs, its own resumption."""
    with sqlite3.connect(database) as sql:
        timed = "(name LIKE 'cost/%' OR name LIKE 'memory/%' OR name LIKE '%seconds')"
        others = "'created', 'command', 'data', 'input', 'memory of training'"
        queries = (
            f"SELECT key, value FROM facts WHERE key NOT IN ({others}) ORDER BY 1",
            "SELECT name, layer, step, value, lower, upper, n, n_effective, status, attributes "
            f"FROM scalars WHERE NOT {timed} ORDER BY 1, 2, 3",
            "SELECT name, layer, step, dtype, shape, data FROM arrays ORDER BY 1, 2, 3",
            "SELECT DISTINCT step, kind, message FROM events WHERE kind <> 'resumed' ORDER BY 1, 2, 3",
            "SELECT claim, outcome, condition, json FROM verdicts ORDER BY 1",
            "SELECT step FROM snapshots ORDER BY 1",
        )
        return [sql.execute(query).fetchall() for query in queries]
