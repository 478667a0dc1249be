# SPDX-License-Identifier: Apache-2.0
"""A headless Chromium that a test or a benchmark drives, over a pipe (Chrome DevTools Protocol).

    with Browser() as browser:
        page = browser.open("http://127.0.0.1:8123/", width=1280, height=800)
        page.wait("document.readyState === 'complete'")
        page.screenshot("page.png")

It reaches nothing but this machine.
"""
import base64
import fcntl
import json
import os
import shutil
import subprocess
import tempfile
import time


class Browser:
    def __init__(self):
        self.profile = tempfile.mkdtemp()
        self.last_id = 0
        self.kept = b""
        self.events = []
        ours, theirs = [], []
        for read, write in (os.pipe(), os.pipe()):
            # Away from 3 and 4, where Chromium expects its ends.
            ends = [fcntl.fcntl(end, fcntl.F_DUPFD_CLOEXEC, 10) for end in (read, write)]
            os.close(read)
            os.close(write)
            ours.append(ends)
        (self.their_read, self.write), (self.read, their_write) = ours
        theirs = [self.their_read, their_write]
        command = (
            'exec 3<&"$1" 4>&"$2"; shift 2; exec chromium --headless=new --no-sandbox --disable-gpu '
            "--remote-debugging-pipe --no-first-run --host-resolver-rules='MAP * ~NOTFOUND, EXCLUDE 127.0.0.1' "
            '--user-data-dir="$1" about:blank'
        )
        self.process = subprocess.Popen(
            ["bash", "-c", command, "_", *map(str, theirs), self.profile],
            pass_fds=theirs,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        for end in theirs:
            os.close(end)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait()
        for end in (self.write, self.read):
            os.close(end)
        shutil.rmtree(self.profile, ignore_errors=True)

    def message(self):
        while b"\0" not in self.kept:
            part = os.read(self.read, 1 << 20)
            if not part:
                raise RuntimeError("chromium has ended")
            self.kept += part
        text, self.kept = self.kept.split(b"\0", 1)
        return json.loads(text)

    def send(self, method, session=None, **parameters):
        self.last_id += 1
        message = {"id": self.last_id, "method": method, "params": parameters}
        if session:
            message["sessionId"] = session
        text = json.dumps(message).encode() + b"\0"
        while text:
            text = text[os.write(self.write, text) :]
        while True:
            got = self.message()
            if got.get("id") != self.last_id:
                self.events.append(got)
            elif "error" in got:
                raise RuntimeError(f"{method}: {got['error']['message']}")
            else:
                return got["result"]

    def open(self, address, width=1280, height=800, slower=1, dark=False, scale=1):
        """A page of that size on a processor that is so many times slower."""
        target = self.send("Target.createTarget", url="about:blank")["targetId"]
        session = self.send("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        page = Page(self, session, target)
        for domain in ("Page", "Runtime"):
            page.send(domain + ".enable")
        page.send(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=scale,
            mobile=width < 600,
        )
        features = [{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}]
        page.send("Emulation.setEmulatedMedia", features=features)
        if slower > 1:
            page.send("Emulation.setCPUThrottlingRate", rate=slower)
        page.send("Page.navigate", url=address)
        return page


class Page:
    def __init__(self, browser, session, target):
        self.browser = browser
        self.session = session
        self.target = target

    def close(self):
        self.browser.send("Target.closeTarget", targetId=self.target)

    def send(self, method, **parameters):
        return self.browser.send(method, self.session, **parameters)

    def value(self, expression):
        """What the expression is in the page; a promise is waited for."""
        got = self.send(
            "Runtime.evaluate", expression=expression, awaitPromise=True, returnByValue=True
        )
        if "exceptionDetails" in got:
            details = got["exceptionDetails"]
            raise RuntimeError(details.get("exception", details).get("description", details["text"]))
        return got["result"].get("value")

    def wait(self, expression, seconds=60):
        """Until the expression holds; what it then is."""
        end = time.monotonic() + seconds
        while True:
            try:
                value = self.value(expression)
            except RuntimeError as error:  # the page before, or this one before its scripts
                value, why = None, error
            else:
                why = value
            if value:
                return value
            if time.monotonic() > end:
                raise AssertionError(f"never true: {expression} ({why})")
            time.sleep(0.02)

    def holds(self, expression, seconds):
        """Whether the expression holds within so many seconds."""
        try:
            return bool(self.wait(expression, seconds))
        except AssertionError:
            return False

    def screenshot(self, file, whole=False):
        got = self.send("Page.captureScreenshot", captureBeyondViewport=whole)
        with open(file, "wb") as out:
            out.write(base64.b64decode(got["data"]))

    def mouse(self, kind, x, y, clicks=1):
        button = "none" if kind == "mouseMoved" else "left"
        self.send("Input.dispatchMouseEvent", type=kind, x=x, y=y, button=button, clickCount=clicks)

    def complaints(self):
        """What the console said and what was thrown, since the beginning."""
        said = []
        for event in self.browser.events:
            if event.get("sessionId") != self.session:
                continue
            if event["method"] == "Runtime.exceptionThrown":
                said.append(json.dumps(event["params"]["exceptionDetails"]))
            elif event["method"] == "Runtime.consoleAPICalled" and event["params"]["type"] in ("error", "warning"):
                said.append(json.dumps(event["params"]["args"]))
        return said
