#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What the report's page and kappascope watch cost on a long run: seconds, megabytes, share of a core.

    benchmarks/page.py [BIN] [--rows 100000] [--every 100] [--shots DIR]

BIN holds kappascope and long_run (build/release/bin, configured with KAPPASCOPE_BUILD_BENCHMARKS=ON). The run has
`rows` steps with two series, and at every `every`-th one 98 more, as the probes write them. Chromium is slowed four times
where a line says so. Times are of this machine: run it on a quiet one.
"""
import argparse
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests" / "support"))
from chromium import Browser  # noqa: E402

SLOWER = 4
# Every figure that is not folded away.
SHOWN = (
    "[...document.querySelectorAll('#run .plot')].filter((one) => !one.closest('details:not([open])'))"
    ".every((one) => one.querySelector('svg.drawing'))"
)
TRIES = 5
DRAWN = """
new Promise((done) => {
  const plot = document.getElementById("plot-overview");
  const last = () => Math.max(...plot.figure.series.filter((one) => one.arm === 0).map((one) => one.x[one.x.length - 1]));
  const look = () => (last() >= STEP ? done(Date.now()) : undefined);
  new MutationObserver(look).observe(plot, { childList: true });
  setTimeout(look, 50);
})
"""


def line(value, limit, unit, what):
    mark = "" if limit is None or value < limit else "  OVER"
    shown = "-" if limit is None else f"{limit:g}"
    print(f"{value:10.3f} {shown:>8} {unit:<4} {what}{mark}", flush=True)


def processor_seconds(process):
    fields = pathlib.Path(f"/proc/{process.pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def measure_report(program, run, folder, browser):
    page = folder / "report.html"
    seconds = []
    for _ in range(TRIES):
        begin = time.monotonic()
        subprocess.run([program, "report", run, "--out", page], check=True, stdout=subprocess.DEVNULL)
        seconds.append(time.monotonic() - begin)
    line(statistics.median(seconds), 2, "s", f"report built, the program's start in it (median of {TRIES})")
    line(page.stat().st_size / 1e6, 5, "MB", "page")
    ready, longest = [], []
    for _ in range(TRIES):
        tab = browser.open("about:blank", slower=SLOWER)
        tab.send(
            "Page.addScriptToEvaluateOnNewDocument",
            source="window.tasks = []; new PerformanceObserver((list) => tasks.push(...list.getEntries().map((one) => one.duration)))"
            ".observe({ type: 'longtask', buffered: true });",
        )
        tab.send("Page.navigate", url=page.as_uri())
        timing = "performance.getEntriesByType('navigation')[0]"
        tab.wait(f"location.protocol === 'file:' && {timing}.loadEventEnd > 0")
        ready.append(tab.value(f"{timing}.domContentLoadedEventEnd") / 1000)
        tab.value("tasks.length = 0")
        tab.wait(SHOWN)
        time.sleep(0.2)
        longest.append(max([0, *tab.value("tasks")]) / 1000)
        tab.close()
    line(statistics.median(ready), 1.2, "s", f"until the first screen is drawn and answers ({SLOWER} times slower)")
    line(statistics.median(longest), 1, "s", "longest pause after that, in which the other figures are drawn (as slow)")


def measure_watch(program, writer, run, rows, browser, shots):
    server = subprocess.Popen([program, "watch", run], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    try:
        tab = browser.open(server.stdout.readline().decode().strip())
        tab.wait("document.getElementById('live')?.dataset.state === 'live'")
        tab.wait(SHOWN)
        time.sleep(3)
        waits = []
        for i in range(20):
            writer.stdin.write(b"\n")
            writer.stdin.flush()
            stored = int(writer.stdout.readline())
            waits.append((tab.value(DRAWN.replace("STEP", str(rows + i))) - stored) / 1000)
            time.sleep(0.3 + 0.07 * i)  # at another place of the server's pause each time
        line(statistics.median(waits), None, "s", "row stored to row drawn, median of 20")
        line(max(waits), 1, "s", "the longest of them")
        if shots:
            tab.screenshot(shots / "watch.png")
        time.sleep(3)
        begin, used = time.monotonic(), processor_seconds(server)
        time.sleep(30)
        share = (processor_seconds(server) - used) / (time.monotonic() - begin)
        line(100 * share, 1, "%", "of a core while nothing is written, a page open (30 s)")
        tab.close()
    finally:
        server.kill()
        server.wait()
        server.stdout.close()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("bin", nargs="?", type=pathlib.Path, default=ROOT / "build" / "release" / "bin")
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--every", type=int, default=100)
    parser.add_argument("--shots", type=pathlib.Path, help="a folder for a picture of the watched page")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name, Browser() as browser:
        folder = pathlib.Path(name)
        run = folder / "run"
        writer = subprocess.Popen(
            [options.bin / "long_run", run, str(options.rows), str(options.every)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        if writer.stdout.readline() != b"ready\n":
            sys.exit("page: error: long_run has failed")
        print(f"{options.rows} rows, 98 series more at every {options.every}-th, 12 layers")
        print("     value    limit      what")
        program = options.bin / "kappascope"
        measure_report(program, run, folder, browser)
        measure_watch(program, writer, run, options.rows, browser, options.shots)
        writer.stdin.close()
        writer.wait()
        writer.stdout.close()


if __name__ == "__main__":
    main()
