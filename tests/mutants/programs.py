# SPDX-License-Identifier: Apache-2.0
"""Which sources a layer has, and which tests look at them."""
import json
import os
import pathlib
import re
import resource
import shutil
import subprocess
import time

# The program of the layer itself, and those of the layers that use it where its own tests are few.
LAYERS = {
    "core": ["core_tests", "store_tests"],
    "linalg": ["linalg_tests"],
    "store": ["store_tests"],
    "study": ["lab_study_tests"],
    "session": ["session_tests", "probes_tests", "lab_train_tests"],
    "python": [],
}
# A test of more seconds is left out, unless it is the source's own: what it alone sees counts as survived.
LONGEST = 15
LONGEST_OF_PYTHON = 60
# Seconds after which a build is taken to hang.
TOO_LONG = 900
# Bytes of address space: a mutant that allocates without end stops there.
TOO_LARGE = 24 << 30


def layer_of(path):
    parts = path.split("/")
    if parts[0] == "python":
        return "python"
    return parts[2 if parts[0] == "include" or parts[:2] == ["src", "lab"] else 1]


def sources(root, layers):
    listed = subprocess.run(["git", "ls-files", "src", "include", "python/kappascope"], cwd=root, check=True,
                            stdout=subprocess.PIPE, text=True).stdout.split()
    return [path for path in listed if path.endswith((".cpp", ".h", ".py")) and layer_of(path) in layers]


def stem_of(path):
    return re.sub(r"_in$", "", pathlib.Path(path).stem)


class Tree:
    """A work tree in which one mutant at a time is built and tested."""

    def __init__(self, root, path, layers):
        self.root, self.path, self.layers = root, path, layers
        self.build = path / "build/release"
        self.scratch = path / "build/scratch"
        if not path.exists():
            subprocess.run(["git", "worktree", "prune"], cwd=root, check=True)
            subprocess.run(["git", "worktree", "add", "--quiet", "--detach", path], cwd=root, check=True)
            os.symlink(root / ".venv", path / ".venv")
        self.take_over()

    def prepare(self, say):
        """Builds the programs, and measures what each test takes and which lines it executes."""
        programs = self.programs()
        if programs:
            say(f"building {', '.join(programs)} in {self.path.name} (minutes from nothing)")
            self.run(["cmake", "--preset", "release", "-DKAPPASCOPE_UNITY=OFF", "-DKAPPASCOPE_CUDA=OFF",
                      "-DCMAKE_CXX_FLAGS_RELEASE=-O2 -DNDEBUG"], check=True)
            self.run(["cmake", "--build", "--preset", "release", "--parallel", "2", "--target", *programs], check=True)
        self.tests = {program: self.timed_tests(program) for program in programs}
        self.lines = self.lines_of_python_tests() if "python" in self.layers else {}

    def programs(self):
        return sorted({name for layer in self.layers for name in LAYERS[layer]})

    def take_over(self):
        """Writes the sources of the root that differ, so that a build compiles these alone."""
        listed = subprocess.run(["git", "ls-files", "--cached", "--others", "--exclude-standard"], cwd=self.root,
                                check=True, stdout=subprocess.PIPE, text=True)
        for name in listed.stdout.split("\n"):
            ours, theirs = self.root / name, self.path / name
            if ours.is_file() and not (theirs.exists() and theirs.read_bytes() == ours.read_bytes()):
                theirs.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(ours, theirs)

    def run(self, command, check=False, environment=(), timeout=TOO_LONG, cwd=None):
        """Whether the command ended with 0; what it wrote is dropped unless it must not fail."""
        shutil.rmtree(self.scratch, ignore_errors=True)
        self.scratch.mkdir(parents=True)
        # A mutant's files stay in the scratch folder of its tree; what it was before comes from a cache.
        settings = {**os.environ, "TMPDIR": str(self.scratch), "HOME": str(self.scratch), "OMP_NUM_THREADS": "1",
                    "CCACHE_DIR": str(self.root / "build/mutants/ccache"), **dict(environment)}
        process = subprocess.Popen(
            command, cwd=cwd or self.path, env=settings, text=True, errors="replace", start_new_session=True,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE if check else subprocess.DEVNULL, stderr=subprocess.STDOUT,
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (TOO_LARGE, TOO_LARGE)))
        try:
            output, _ = process.communicate(timeout=None if check else timeout)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, 9)
            process.wait()
            return False
        if check and process.returncode != 0:
            raise SystemExit(f"mutants: error: {' '.join(map(str, command))} failed:\n{output[-3000:]}")
        return process.returncode == 0

    def verdict(self, site):
        """caught, survived or invalid (does not compile), and the test that caught it."""
        layer = layer_of(site.path)
        if layer == "python":
            return self.verdict_of_python(site)
        for program in LAYERS[layer]:
            if not self.run(["cmake", "--build", "--preset", "release", "--target", program]):
                return "invalid", ""
            own = f"[#{stem_of(site.path)}_test]"
            shown = [test for test in self.tests[program] if test[0] < LONGEST or own in test[2][2]]
            for seconds, name, command in sorted(shown, key=lambda test: (own not in test[2][2], test[0])):
                if not self.run([*command, "-a"], cwd=self.scratch, timeout=60 + 10 * seconds):
                    return "caught", name
        return "survived", ""

    def timed_tests(self, program):
        """(seconds, name, command) of each test of the program that passes."""
        listed = json.loads(subprocess.run(
            ["ctest", "--preset", "release", "--show-only=json-v1", "-R", f"^{program.removesuffix('_tests').replace('lab_', 'lab/')}/"],
            cwd=self.path, check=True, stdout=subprocess.PIPE, text=True).stdout)
        kept = self.root / "build/mutants/seconds.json"
        known = json.loads(kept.read_text()) if kept.exists() else {}
        timed = []
        for test in listed["tests"]:
            name = test["name"]
            if name not in known:
                begin = time.monotonic()
                passed = test.get("command") and self.run(test["command"], cwd=self.scratch)
                known[name] = time.monotonic() - begin if passed else None
                kept.write_text(json.dumps(known))
            if known[name] is not None:
                timed.append((known[name], name, test["command"]))
        return timed

    # The Python tests take minutes together: a mutant is shown to those that execute its line, the
    # fastest first.

    def test_files(self):
        folder = self.path / "tests/python"
        skipped = ("package", "peers", "trainer_processes", "notebook")
        return [path for path in sorted(folder.glob("*/*_test.py")) if path.stem.removesuffix("_test") not in skipped]

    def python(self, *words, environment=(), timeout=TOO_LONG, check=False):
        build = self.root / "build/release"
        return self.run([self.path / ".venv/bin/python3", "-B", *words], check=check, timeout=timeout, environment={
            "PYTHONPATH": f"{self.root}/build/mutants/coverage:{self.path}/python",
            "KAPPASCOPE_LIBRARY": f"{build}/lib/libkappascope_python.so",
            "KAPPASCOPE_PROGRAM": f"{build}/bin/kappascope", **dict(environment)})

    def lines_of_python_tests(self):
        """{test: (seconds, {source: lines})}, measured once with coverage.py, children included."""
        kept = self.root / "build/mutants/python-lines.json"
        library = self.root / "build/mutants/coverage"
        if not library.exists():
            pinned = self.root / "python/requirements/mutants.txt"
            subprocess.run([self.root / ".venv/bin/pip", "install", "-q", "--require-hashes", "--no-deps", "--target", library, "-r", pinned],
                           check=True)
            (library / "sitecustomize.py").write_text("import coverage\ncoverage.process_startup()\n")
        lines = json.loads(kept.read_text()) if kept.exists() else {}
        settings = self.root / "build/mutants/coveragerc"
        settings.write_text("[run]\nparallel = true\nsource = kappascope\nsigterm = true\n"
                            "data_file = ${COVERAGE_DATA}\n[paths]\nhere =\n")
        for test in self.test_files():
            name = str(test.relative_to(self.path))
            if name in lines:
                continue
            data = self.root / "build/mutants/data"
            shutil.rmtree(data, ignore_errors=True)
            data.mkdir()
            begin = time.monotonic()
            passed = self.python(test, environment={"COVERAGE_PROCESS_START": str(settings), "COVERAGE_DATA": f"{data}/c"})
            seconds = time.monotonic() - begin
            seen = self.measured(library, data)
            lines[name] = {"seconds": seconds, "passed": passed, "lines": seen}
            kept.write_text(json.dumps(lines))
        return lines

    def measured(self, library, data):
        script = ("import coverage, glob, json, sys\nout = {}\n"
                  "for path in glob.glob(sys.argv[1] + '/c*'):\n"
                  "    one = coverage.CoverageData(path)\n    one.read()\n"
                  "    for name in one.measured_files():\n"
                  "        out.setdefault(name, set()).update(one.lines(name) or [])\n"
                  "print(json.dumps({name: sorted(lines) for name, lines in out.items()}))")
        done = subprocess.run([self.root / ".venv/bin/python3", "-c", script, data], check=True, text=True,
                              stdout=subprocess.PIPE, env={**os.environ, "PYTHONPATH": str(library)})
        return {name[name.index("python/kappascope"):]: lines for name, lines in json.loads(done.stdout).items()}

    def verdict_of_python(self, site):
        source = (self.path / site.path).read_text()
        try:
            compile(source, site.path, "exec")
        except SyntaxError:
            return "invalid", ""
        own = f"{stem_of(site.path).strip('_')}_test"
        tests = [(row["seconds"], name) for name, row in self.lines.items()
                 if row["passed"] and site.line in row["lines"].get(site.path, [])
                 and (row["seconds"] < LONGEST_OF_PYTHON or pathlib.Path(name).stem == own)]
        for seconds, name in sorted(tests):
            if not self.python(self.path / name, timeout=60 + 10 * seconds):
                return "caught", pathlib.Path(name).stem
        return "survived", "" if tests else "no test of these executes it"
