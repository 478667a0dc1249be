# SPDX-License-Identifier: Apache-2.0
"""pip packs the library that is built, and the package works away from the source tree."""

import json
import os
import re
import shutil
import sqlite3
import subprocess
import sys
import tarfile
import tempfile
import unittest
import zipfile
from importlib import metadata
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = """
import kappascope, torch
weight = torch.nn.Parameter(torch.tensor([1.0, 2.0]))
found = kappascope.spectrum((weight**3).sum(), [weight], top=1).eigenvalues.tolist()
print(kappascope.__version__, [round(value, 6) for value in found])
"""


def setuptools() -> int:
    try:
        return int(metadata.version("setuptools").partition(".")[0])
    except metadata.PackageNotFoundError:
        return 0


def built_for() -> str:
    return ".".join(metadata.version("torch").split(".")[:2])


class Package(unittest.TestCase):
    @unittest.skipUnless(setuptools() >= 77, "needs setuptools 77 in this environment")
    def test_pip_installs_it_from_the_source_tree(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            options = ["--no-index", "--no-deps", "--no-build-isolation", "--target", folder]
            pip = [sys.executable, "-m", "pip", "install", "-q", *options, str(ROOT / "python")]
            reader = str(Path(os.environ["KAPPASCOPE_PROGRAM"]).with_name("kappascope_reader"))
            subprocess.run(pip, check=True, env={**os.environ, "KAPPASCOPE_PROGRAM": reader})
            self.assertTrue(Path(folder, "kappascope", "py.typed").exists())
            environment = {**os.environ, "PYTHONPATH": folder}
            for name in ("KAPPASCOPE_LIBRARY", "KAPPASCOPE_TRAINER"):
                del environment[name]
            self.check_program(Path(folder, "bin/kappascope"), Path(folder))
            out = subprocess.run(
                [sys.executable, "-B", "-c", PROGRAM],
                env=environment,
                cwd=folder,
                check=True,
                capture_output=True,
                text=True,
            ).stdout
            version = re.search(r"VERSION ([0-9.]+) LANG", (ROOT / "CMakeLists.txt").read_text())
            assert version is not None
            self.assertEqual(out.strip(), f"{version[1]} [12.0]")
            helps = [sys.executable, "-B", "-m", "kappascope.train", "--help"]
            out = subprocess.run(
                helps, env=environment, cwd=folder, check=True, capture_output=True, text=True
            ).stdout
            self.assertIn("kappascope train --config FILE", out)
            (packed,) = Path(folder).glob(f"kappascope-{version[1]}.dist-info")
            self.assertIn(f"Requires-Dist: torch=={built_for()}.*", (packed / "METADATA").read_text())

    @unittest.skipUnless(setuptools() >= 77, "needs setuptools 77 in this environment")
    def test_a_wheel_holds_a_library_for_each_of_several_torches(self) -> None:
        names = [f"libkappascope_python-{minor}.so" for minor in ("2.10", "2.12")]
        with tempfile.TemporaryDirectory() as folder:
            libraries = Path(folder, "libraries")
            libraries.mkdir()
            for name in names:
                (libraries / name).write_text(name)
            options = ["--no-index", "--no-deps", "--no-build-isolation", "--wheel-dir", folder]
            pip = [sys.executable, "-m", "pip", "wheel", "-q", *options, str(ROOT / "python")]
            environment = {k: v for k, v in os.environ.items() if k != "KAPPASCOPE_TRAINER"}
            subprocess.run(pip, check=True, env={**environment, "KAPPASCOPE_LIBRARY": str(libraries)})
            # Any Python: nothing of its own interface is linked.
            (wheel,) = Path(folder).glob("kappascope-*-py3-none-linux_*.whl")
            with zipfile.ZipFile(wheel) as packed:
                held = {Path(name).name for name in packed.namelist() if name.endswith(".so")}
                (metadata_name,) = (name for name in packed.namelist() if name.endswith("METADATA"))
                needs = packed.read(metadata_name).decode()
        self.assertEqual(held, set(names))
        self.assertRegex(needs, r"Requires-Dist: torch<2\.16,>=2\.10")

    def test_a_torch_without_a_library_is_told_which_have_one(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            leave = shutil.ignore_patterns("__pycache__", "*.so")
            package = shutil.copytree(ROOT / "python/kappascope", Path(folder, "kappascope"), ignore=leave)
            for minor in ("2.9", "2.8", "2.100"):
                (package / f"libkappascope_python-{minor}.so").touch()
            environment = {k: v for k, v in os.environ.items() if k != "KAPPASCOPE_LIBRARY"}
            done = subprocess.run(
                [sys.executable, "-B", "-c", "import kappascope"],
                env={**environment, "PYTHONPATH": folder},
                cwd=folder,
                capture_output=True,
                text=True,
            )
        self.assertEqual(done.returncode, 1)
        (said,) = (line for line in done.stderr.splitlines() if line.startswith("ImportError: "))
        self.assertIn("torch 2.8, 2.9, 2.100, and this is torch 2.", said)
        self.assertIn("pip install --no-build-isolation ./python", said)

    def check_program(self, program: Path, folder: Path) -> None:
        """It reads runs, without LibTorch, and says where to find what trains."""

        def run(*words: str) -> subprocess.CompletedProcess[str]:
            return subprocess.run([program, *words], capture_output=True, text=True, check=False)

        libraries = subprocess.run(["ldd", program], capture_output=True, text=True, check=True)
        self.assertNotIn("torch", libraries.stdout)
        stored = ROOT / "tests/support/runs"
        with sqlite3.connect(folder / "run.sqlite") as database:
            for part in ("version3.sql", "version4.sql"):
                database.executescript((stored / part).read_text())
        database.close()
        listed = run("runs", "--json", str(folder))
        self.assertEqual((listed.returncode, listed.stderr), (0, ""))
        self.assertEqual(json.loads(listed.stdout)["run"], str(folder))
        checked = json.loads(run("check", "--json", str(folder)).stdout)
        self.assertEqual(checked["damage"], [])
        self.assertIsNone(checked["checkpoints"])  # not looked at
        page = folder / "page.html"
        drawn = run("report", str(folder), "--out", str(page))
        self.assertEqual((drawn.returncode, drawn.stderr), (0, ""))
        self.assertIn("<html", page.read_text()[:1000])
        path = {"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}  # its Python, for the demo
        library = {"KAPPASCOPE_LIBRARY": os.environ["KAPPASCOPE_LIBRARY"]}
        python = {**os.environ, **path, **library, "PYTHONPATH": str(folder)}
        shown = subprocess.run([program, "demo", "--help"], env=python, capture_output=True, text=True)
        self.assertEqual((shown.returncode, shown.stderr), (0, ""))
        self.assertIn("usage: kappascope demo", shown.stdout)
        received = folder / "received"  # a folder of somebody else is no place to look for packages
        received.mkdir()
        for name in ("torch", "argparse", "kappascope"):
            (received / f"{name}.py").write_text("raise SystemExit(7)")
        there = subprocess.run([program, "demo", "--help"], env=python, cwd=received, capture_output=True, text=True)
        self.assertEqual((there.returncode, there.stdout), (0, shown.stdout), there.stderr)
        unknown = run("train")
        self.assertEqual(unknown.returncode, 2)
        self.assertIn("./quickstart", unknown.stderr)

    @unittest.skipUnless(setuptools() >= 77, "needs setuptools 77 in this environment")
    def test_a_torch_outside_the_environments_own_packages_is_found(self) -> None:
        import torch

        with tempfile.TemporaryDirectory() as folder:
            subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder], check=True)
            (own,) = Path(folder).glob("lib/python3*/site-packages")
            (own / "elsewhere.pth").write_text(str(Path(torch.__file__).parents[1]))
            environment = {k: v for k, v in os.environ.items() if k != "VIRTUAL_ENV"}
            setup = [f"{folder}/bin/python3", "-B", "setup.py", "-q", "egg_info", "--egg-base", folder]
            subprocess.run(setup, cwd=ROOT / "python", check=True, env=environment)
            needs = Path(folder, "kappascope.egg-info/requires.txt").read_text()
            self.assertEqual(needs.strip(), f"torch=={built_for()}.*")

    @unittest.skipUnless(setuptools() >= 77, "needs setuptools 77 in this environment")
    def test_a_source_distribution_holds_all_that_the_library_is_built_from(self) -> None:
        import torch

        with tempfile.TemporaryDirectory() as folder:
            make = f"import setuptools.build_meta as b; print(b.build_sdist({folder!r}))"
            command = [sys.executable, "-B", "-c", make]
            out = subprocess.run(
                command, cwd=ROOT / "python", check=True, capture_output=True, text=True
            ).stdout
            with tarfile.open(Path(folder, out.splitlines()[-1])) as packed:
                packed.extractall(folder)  # our own, so no filter; Debian 12 has none
            (unpacked,) = Path(folder).glob("kappascope-*/")
            # CMake names each source that is missing.
            options = [
                f"-DKAPPASCOPE_TORCH_DIR={Path(torch.__file__).parent}",
                "-DKAPPASCOPE_PYTHON_ONLY=ON",
                "-DKAPPASCOPE_PYTHON_TRAINER=ON",
            ]
            configure = ["cmake", "-G", "Ninja", "-S", unpacked / "library", "-B", f"{folder}/build"]
            done = subprocess.run([*configure, *options], capture_output=True, text=True)
            self.assertEqual(done.returncode, 0, done.stderr)
            for headers in ("include", "src"):
                self.assertEqual(
                    {file.relative_to(ROOT) for file in (ROOT / headers).rglob("*.h")},
                    {
                        file.relative_to(unpacked / "library")
                        for file in (unpacked / "library" / headers).rglob("*.h")
                    },
                )
            self.assertEqual(list(unpacked.rglob("*.png")), [])

    def test_the_package_does_not_bring_the_compiler(self) -> None:
        # Importing torch._dynamo takes longer than torch itself.
        program = "import sys, kappascope; print('torch._dynamo' in sys.modules)"
        command = [sys.executable, "-B", "-c", program]
        out = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        self.assertEqual(out.strip(), "False")

    def test_a_library_that_does_not_load_is_named(self) -> None:
        environment = {**os.environ, "KAPPASCOPE_LIBRARY": "/nowhere/library.so"}
        command = [sys.executable, "-B", "-c", "import kappascope"]
        failed = subprocess.run(command, env=environment, capture_output=True, text=True)
        last = failed.stderr.strip().splitlines()[-1]
        self.assertRegex(last, "^ImportError: could not load /nowhere/library.so into torch 2")
        self.assertIn("install the package again", last)


if __name__ == "__main__":
    unittest.main()
