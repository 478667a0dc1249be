# SPDX-License-Identifier: Apache-2.0
"""Training speed and peak memory of a language model here and in PyTorch (Python, eager), in one run.

    .venv/bin/python benchmarks/language_speed.py [--rounds 10] [--steps 40] [--compile]

The model is the benchmarks' own: Llama's layout, 4 layers, d 256, d_ff 768, 4 heads, 128 tokens x 8, bytes, Adam; the
other side is the package transformers with the same shape, its fused attention and torch.optim.Adam. Each side is a
process of its own, which says what its steps took; both take turns. With --compile the other side's model goes through
torch.compile, and its time begins after the second step, so that no compiling is in it.
What else a machine does can only make a process slower, so the result is that of each side's fastest one; the rounds'
own ratios tell how far they spread.
"""

import argparse
import os
import pathlib
import re
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
LAYERS, WIDTH, HIDDEN, HEADS, CONTEXT, BATCH = 4, 256, 768, 4, 128, 8


def configuration():
    """The benchmarks' language model in the package transformers."""
    from transformers import LlamaConfig

    return LlamaConfig(
        vocab_size=256,
        hidden_size=WIDTH,
        intermediate_size=HIDDEN,
        num_hidden_layers=LAYERS,
        num_attention_heads=HEADS,
        num_key_value_heads=HEADS,
        max_position_embeddings=CONTEXT,
        attn_implementation="sdpa",
        tie_word_embeddings=False,
        use_cache=False,
    )


def train_in_pytorch(text: pathlib.Path, steps: int, compiled: bool) -> None:
    import torch
    from transformers import LlamaForCausalLM

    torch.manual_seed(1)
    model = LlamaForCausalLM(configuration())
    forward = torch.compile(model) if compiled else model
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    data = torch.frombuffer(bytearray(text.read_bytes()), dtype=torch.uint8)
    untimed = 2 if compiled else 0
    for step in range(untimed + steps):
        if step == untimed:
            begin = time.perf_counter()
        starts = torch.randint(len(data) - CONTEXT - 1, (BATCH,))
        windows = torch.stack([data[s : s + CONTEXT + 1] for s in starts]).long()
        optimizer.zero_grad()
        logits = forward(windows[:, :-1]).logits
        loss = torch.nn.functional.cross_entropy(logits.flatten(0, 1), windows[:, 1:].flatten())
        loss.backward()
        optimizer.step()
        loss.item()
    print(time.perf_counter() - begin)


def run(command: list[str]) -> tuple[str, int]:
    """What a process prints, and its peak resident bytes."""
    with tempfile.TemporaryFile("w+") as errors:
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=errors, text=True)
        printed = process.stdout.read()
        _, status, usage = os.wait4(process.pid, 0)
        if status != 0:
            errors.seek(0)
            sys.exit(f"{command[0]} failed: {errors.read()[-2000:]}")
    return printed, usage.ru_maxrss * 1024


def seconds_of_steps(run_folder: pathlib.Path, steps: int) -> float:
    """By the run's fact "input", which counts windows."""
    with sqlite3.connect(run_folder / "run.sqlite") as database:
        (fact,) = database.execute("select value from facts where key = 'input'").fetchone()
    return steps * BATCH / float(re.search(r"([\d.]+) trained", fact)[1])


def ours(program: pathlib.Path, text: pathlib.Path, run_folder: pathlib.Path, steps: int) -> list[str]:
    settings = {
        "data.path": text,
        "data.context": CONTEXT,
        "model.kind": "language",
        "model.layout": "llama",
        "model.width": WIDTH,
        "model.hidden": HIDDEN,
        "model.blocks": LAYERS,
        "model.heads": HEADS,
        "model.fused-attention": "true",
        "train.batch": BATCH,
        "train.steps": steps,
        "train.schedule": "constant",
        "train.eval-every": 10**6,
        "train.eval-rows": 1,
        "train.checkpoint-every": 10**6,
        "probes.features": "false",
        "probes.intercept": "false",
        "probes.gradient-variance": "false",
        "probes.hessian": "false",
    }
    words = [f"--{name}={value}" for name, value in settings.items()]
    return [str(program), "train", "--out", str(run_folder), *words]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--steps", type=int, default=40)
    parser.add_argument("--program", type=pathlib.Path, default=ROOT / "build/release/bin/kappascope")
    parser.add_argument("--text", type=pathlib.Path, help="default: the program's own random bytes")
    parser.add_argument("--compile", action="store_true", help="beside torch.compile instead of eager")
    parser.add_argument("--in-pytorch", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.in_pytorch is not None:
        train_in_pytorch(options.text, options.in_pytorch, options.compile)
        return
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        text = options.text or folder / "text.txt"
        if options.text is None:
            text.write_bytes(os.urandom(1 << 20))
        how = ["--compile"] if options.compile else []
        there = [sys.executable, __file__, "--text", str(text), "--in-pytorch", str(options.steps), *how]
        seconds, peaks = {"here": [], "there": []}, {"here": [], "there": []}

        def train_here(turn: int) -> None:
            out = folder / f"run-{turn}"
            peaks["here"].append(run(ours(options.program, text, out, options.steps))[1])
            seconds["here"].append(seconds_of_steps(out, options.steps))

        def train_there(_: int) -> None:
            printed, peak = run(there)
            peaks["there"].append(peak)
            seconds["there"].append(float(printed))

        for turn in range(options.rounds):
            for train in (train_here, train_there)[:: 1 if turn % 2 == 0 else -1]:
                train(turn)
            ratio = seconds["there"][-1] / seconds["here"][-1]
            print(f"round {turn + 1}: speed {ratio:.3f}, memory {peaks['here'][-1] / peaks['there'][-1]:.3f}", file=sys.stderr)
    ratios = [there / here for here, there in zip(seconds["here"], seconds["there"])]
    memories = [here / there for here, there in zip(peaks["here"], peaks["there"])]
    fastest = {side: min(taken) for side, taken in seconds.items()}
    other = "torch.compile" if options.compile else "PyTorch eager"
    limit = "" if options.compile else " (at least 1)"
    print(
        f"speed here / {other}: {fastest['there'] / fastest['here']:.3f}{limit}; rounds "
        f"{min(ratios):.3f} to {max(ratios):.3f}, median {statistics.median(ratios):.3f}; a step takes "
        f"{1e3 * fastest['here'] / options.steps:.0f} ms here, {1e3 * fastest['there'] / options.steps:.0f} ms there"
    )
    limit = "" if options.compile else " (at most 0.65)"
    print(f"peak memory here / {other}: {statistics.median(memories):.3f}{limit}")


if __name__ == "__main__":
    main()
