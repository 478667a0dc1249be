# SPDX-License-Identifier: Apache-2.0
"""kappascope watch in a browser while a run trains, is killed, resumed and ends.

    watch_browser_test.py PROGRAM
"""
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parents[1] / "support"), str(HERE.parents[1] / "faults")]
from chromium import Browser  # noqa: E402
from program import write_images  # noqa: E402

PROGRAM = os.path.abspath(sys.argv.pop())
TRAIN = (
    "train --data data --model.width 6 --model.hidden 10 --model.blocks 2 --model.bias both --train.batch 32 "
    "--train.threads 1 --train.checkpoint-every 50 --train.steps 200000 --probes.every 20 --probes.budget 0 "
    "--probes.hessian-every 100 --probes.hessian-rows 40 --probes.hessian-top 2"
).split()

# The model that the page has by now, as one that is loaded anew has it: lists that are all alike are
# short in one and long in the other.
SAME_AS_LOADED = """
(async () => {
  const page = new DOMParser().parseFromString(await (await fetch(location.href)).text(), "text/html");
  const loaded = JSON.parse(page.getElementById("data").textContent);
  const long = (model) => JSON.stringify([model.arms, model.figures.map((figure) => ({ ...figure, series: figure.series.map((series) => ({
    ...series, hollow: series.hollow || series.x.map(() => 0), notes: series.notes || series.x.map(() => series.note ?? ""), note: "" })) }))
    .map((figure) => [figure.id, figure.title, figure.x, figure.panels, figure.lines, figure.series.map((series) => Object.entries(series).sort())])]);
  const text = (document) => ["run", "claims"].map((main) => [...document.getElementById(main).children].filter((one) => one.tagName !== "NOSCRIPT").map((one) => {
    const copy = one.cloneNode(true);
    for (const part of copy.querySelectorAll(".plot, .key")) part.replaceChildren();
    for (const part of copy.querySelectorAll("details")) part.removeAttribute("open");
    return one.id + ": " + copy.textContent.replace(/\\s/g, "");
  }));
  const mine = text(document).flat(), theirs = text(page).flat();
  return { version: page.getElementById("live").dataset.version === document.documentElement.dataset.version,
    model: long(loaded) === long(kappascope.model), different: mine.filter((one, i) => one !== theirs[i]).map((one) => one.slice(0, 80)),
    sections: mine.length === theirs.length };
})()
"""


def popen(words, folder, **more):
    return subprocess.Popen([PROGRAM, *words], cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, **more)


class Watched(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        write_images(self.folder / "data")
        (self.folder / "runs").mkdir()
        self.watch = self.start(["watch", "runs"])
        self.address = self.watch.stdout.readline().decode().strip()
        self.browser = Browser()
        self.addCleanup(self.browser.__exit__)
        self.page = self.browser.open(self.address)

    def start(self, words):
        process = popen(words, self.folder)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        self.addCleanup(process.stdout.close)
        return process

    def points(self, layer="", quantity="train", figure="overview"):
        return (
            f"kappascope.model.figures.filter((one) => one.id === '{figure}').flatMap((one) => one.series)"
            f".filter((one) => one.quantity === '{quantity}').reduce((sum, one) => sum + one.x.length, 0)"
        )

    def same_as_loaded(self):
        """Waits until nothing is under way."""
        for _ in range(50):
            got = self.page.value(SAME_AS_LOADED)
            if got["version"]:
                break
        self.assertEqual(got, {"version": True, "model": True, "different": [], "sections": True})

    def test_a_run_that_trains_is_killed_resumed_and_ends(self):
        page = self.page
        page.wait("document.getElementById('live').dataset.state === 'live'")
        self.assertIn("No run has been written yet", page.value("document.body.innerText"))

        training = self.start([*TRAIN, "--out", "runs/a"])
        page.wait(self.points() + " > 200")
        page.wait(self.points(figure="hessian_eigenvalues", quantity="λ1") + " > 1")
        page.wait("document.querySelector('#plot-overview path.line') !== null")
        self.assertRegex(page.value("document.getElementById('live').innerText"), r"running, step .*ago")

        # What the reader chose stays while rows arrive.
        box = page.value(
            "(() => { const r = document.querySelector('#plot-overview .area').getBoundingClientRect(); return [r.left, r.top, r.width, r.height]; })()"
        )
        left, top, width, height = box
        page.mouse("mouseMoved", left + 0.2 * width, top + 0.4 * height)
        page.mouse("mousePressed", left + 0.2 * width, top + 0.4 * height)
        page.mouse("mouseMoved", left + 0.5 * width, top + 0.4 * height)
        page.mouse("mouseReleased", left + 0.5 * width, top + 0.4 * height)
        axis = "document.getElementById('plot-overview').layout.frames[0].x.range"
        zoomed = page.wait(f"{axis}[0] > 10 && {axis}")
        page.value("document.querySelector('#findings details').open = true")
        page.value("document.getElementById('theme').click()")
        layer = page.value("document.querySelector('#layer-list input').parentElement.textContent")
        page.value("document.querySelector('#layer-list input').click()")
        drawn = "document.querySelector('#plot-overview path.line').getAttribute('d').split('L').length"
        before = page.value(drawn)
        page.wait(f"{drawn} > {before} + 100")
        self.assertEqual(page.value(axis), zoomed)
        self.assertEqual(page.value("document.documentElement.dataset.theme"), "dark")
        self.assertTrue(page.value("document.querySelector('#findings details').open"))
        self.assertFalse(page.value("document.querySelector('#layer-list input').checked"))
        self.assertNotIn(
            layer, page.value("kappascope.panelsOf(kappascope.model.figures.find((one) => one.id === 'kappa_layers')).map(String)")
        )
        # And a double click goes back to all there is by now.
        reset = f"{axis}[0] < 0 && {axis}[1] > {before}"
        for seconds in (10, 10, 60):  # on a busy machine two clicks may be too far apart to be one
            for clicks in (1, 2):
                page.mouse("mousePressed", left + 0.3 * width, top + 0.4 * height, clicks)
                page.mouse("mouseReleased", left + 0.3 * width, top + 0.4 * height, clicks)
            if seconds == 60 or page.holds(reset, seconds):
                break
        page.wait(reset)

        training.kill()
        page.wait("document.getElementById('live').innerText.includes('its process is gone; last sign of life at step')")
        self.same_as_loaded()
        training = self.start(["train", "--resume", "runs/a"])
        page.wait("document.getElementById('live').innerText.includes('running')")
        page.wait(self.points() + f" > {before} + 300")

        # Another run is another arm, and Ctrl-C ends it.
        second = self.start([*TRAIN, "--out", "runs/b", "--label", "second"])
        page.wait("document.querySelectorAll('#arms button').length === 2")
        page.wait("document.querySelectorAll('#arms-table tbody tr').length === 2")
        second.send_signal(signal.SIGINT)
        page.wait("document.getElementById('live').innerText.includes('second: interrupted')")
        training.kill()
        page.wait("document.getElementById('live').innerText.includes('its process is gone')")
        training = self.start(["train", "--resume", "runs/b"])
        page.wait("document.getElementById('live').innerText.includes('second: running')")
        training.kill()
        page.wait("document.getElementById('live').innerText.includes('second: its process is gone')")
        self.same_as_loaded()
        self.assertEqual(page.value("document.documentElement.dataset.problems"), "")
        self.assertEqual(page.complaints(), [])

        self.watch.kill()
        page.wait("document.getElementById('live').innerText.includes('Not connected since')")


if __name__ == "__main__":
    if not shutil.which("chromium"):
        print("skipped: chromium is not installed (apt-get install chromium)")
        sys.exit(0)
    unittest.main(argv=sys.argv[:1])
