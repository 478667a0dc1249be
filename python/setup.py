# SPDX-License-Identifier: Apache-2.0
"""Builds the C++ library with CMake, for the torch of this environment, and the program that reads
runs, and packs both.

A source distribution holds the C++ sources in its folder `library`.

KAPPASCOPE_LIBRARY and KAPPASCOPE_PROGRAM name what is built already (quickstart's). The first may be a
folder of libraries for several versions of torch (wheels/build's).
KAPPASCOPE_TORCH_DIR names the folder of another torch. With KAPPASCOPE_WITH_TRAINER=1 the trainer of
`torchrun -m kappascope.train` is built too; KAPPASCOPE_TRAINER names one that is.
"""

import os
import re
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

from setuptools import setup
from setuptools.command.bdist_wheel import bdist_wheel
from setuptools.command.build_py import build_py
from setuptools.command.sdist import sdist
from setuptools.dist import Distribution
from distutils.command.build_scripts import build_scripts  # setuptools' own; it has no other name

HERE = Path(__file__).resolve().parent
PACKED = HERE / "library"  # in a source distribution
ROOT = PACKED if PACKED.is_dir() else HERE.parent
BUILD = ROOT / "build" / "pip"
LIBRARY = "libkappascope_python"
TRAINER = "libkappascope_train_python"
READER = "kappascope_reader"
TORCH = ">=2.10,<2.16"
ENVIRONMENTS = ("VIRTUAL_ENV", "CONDA_PREFIX")


def version() -> str:
    found = re.search(r"project\(kappascope VERSION (\S+)", (ROOT / "CMakeLists.txt").read_text())
    assert found, "CMakeLists.txt names no version"
    return found[1]


def torch_folder() -> Path:
    """Of the torch that the package is built for.

    pip hides the environment's packages from a build: its Python is asked without the settings
    that do so, which also finds a torch of the system, of the user, or of a .pth file.
    """
    asked = "import importlib.util as u; print(u.find_spec('torch').submodule_search_locations[0])"
    given = os.environ.get("KAPPASCOPE_TORCH_DIR")
    places = [Path(given)] if given else [Path(sysconfig.get_path("purelib"), "torch")]
    pythons = [Path(sys.executable)]
    pythons += [Path(os.environ[name], "bin/python3") for name in ENVIRONMENTS if name in os.environ]
    for python in [] if given else pythons:
        if not python.exists():
            continue
        done = subprocess.run([python, "-E", "-c", asked], capture_output=True, text=True, check=False)
        if done.returncode == 0:
            places.append(Path(done.stdout.strip()))
    for place in places:
        if (place / "lib" / "libtorch_cpu.so").exists():
            return place
    raise SystemExit(
        f"there is no torch in {' or '.join(dict.fromkeys(map(str, places)))}: install it first, or "
        "name its folder with KAPPASCOPE_TORCH_DIR; uv, which builds in an environment of its own, "
        "finds it with --no-build-isolation"
    )


def torch_minor() -> str:
    """As 2.11, of the torch that the package is built for; raises OSError or SystemExit where there is none."""
    found = re.search(r"__version__ = '(\d+\.\d+)", (torch_folder() / "version.py").read_text())
    if found is None:
        raise OSError("torch/version.py names no version")
    return found[1]


def several() -> list[Path]:
    """Libraries for several versions of torch, each with the version in its name."""
    given = Path(os.environ.get("KAPPASCOPE_LIBRARY", "none"))
    return sorted(given.glob(f"{LIBRARY}-*.so")) if given.is_dir() else []


def dependencies() -> list[str]:
    """A library fits the torch that it was built for, and pip is to know."""
    if "sdist" in sys.argv or several():
        return [f"torch{TORCH}"]
    try:
        return [f"torch=={torch_minor()}.*"]
    except (OSError, SystemExit):
        return [f"torch{TORCH}"]


def built_libraries() -> dict[str, Path]:
    """By the name under which the package holds it."""
    if libraries := several():
        return {path.name: path for path in libraries}
    given = os.environ.get("KAPPASCOPE_LIBRARY")
    names = {LIBRARY: given}
    if given is None and os.environ.get("KAPPASCOPE_WITH_TRAINER") == "1":
        names[TRAINER] = None
    if trainer := os.environ.get("KAPPASCOPE_TRAINER"):
        names[TRAINER] = trainer
    if given is None:
        build([name.removeprefix("lib") for name in names])
    paths = {name: Path(path) if path else BUILD / "lib" / f"{name}.so" for name, path in names.items()}
    return {f"{name}-{torch_minor()}.so": path for name, path in paths.items()}


def built_program() -> Path:
    if given := os.environ.get("KAPPASCOPE_PROGRAM"):
        return Path(given)
    build([READER])
    return BUILD / "bin" / READER


def build(targets: list[str]) -> None:
    torch = torch_folder()
    options = [
        "-DCMAKE_BUILD_TYPE=Release",
        "-DKAPPASCOPE_PYTHON_ONLY=ON",
        "-DKAPPASCOPE_UNITY=ON",
        f"-DKAPPASCOPE_TORCH_DIR={torch}",
    ]
    with_trainer = os.environ.get("KAPPASCOPE_WITH_TRAINER") == "1"
    options.append(f"-DKAPPASCOPE_PYTHON_TRAINER={'ON' if with_trainer else 'OFF'}")
    subprocess.run(["cmake", "-G", "Ninja", "-S", ROOT, "-B", BUILD, *options], check=True)
    subprocess.run(["cmake", "--build", BUILD, "--target", *targets], check=True)


class BuildWithLibrary(build_py):
    def run(self) -> None:
        shutil.rmtree(self.build_lib, ignore_errors=True)  # what an earlier build left
        super().run()
        for name, path in built_libraries().items():
            shutil.copy2(path, Path(self.build_lib, "kappascope", name))


class BuildProgram(build_scripts):
    """A binary, where setuptools expects a script: its first line is not looked at."""

    def get_source_files(self) -> list[str]:
        return []

    def run(self) -> None:
        self.mkpath(self.build_dir)
        target = Path(self.build_dir, "kappascope")
        shutil.copy2(built_program(), target)
        target.chmod(0o755)


class SourceWithLibrary(sdist):
    """With the C++ sources, which lie beside this folder."""

    def make_release_tree(self, base_dir: str, files: list[str]) -> None:
        super().make_release_tree(base_dir, files)
        target = Path(base_dir, PACKED.name)
        for name in ("include", "probes", "reports", "src"):
            leave = shutil.ignore_patterns("__pycache__", "*.md", "*.png")
            shutil.copytree(ROOT / name, target / name, ignore=leave)
        (target / "python").mkdir()
        for pattern in ("*.cpp", "*.h", "CMakeLists.txt"):
            for file in (ROOT / "python").glob(pattern):
                shutil.copy2(file, target / "python")
        for name in ("CMakeLists.txt", "LICENSE"):
            shutil.copy2(ROOT / name, target)


class PlatformWheel(bdist_wheel):
    """Of one platform and any Python: nothing of Python's own interface is linked."""

    def get_tag(self) -> tuple[str, str, str]:
        return "py3", "none", super().get_tag()[2]


class PlatformDistribution(Distribution):
    def has_ext_modules(self) -> bool:
        return True


(BUILD / "package").mkdir(parents=True, exist_ok=True)
setup(
    version=version(),
    install_requires=dependencies(),
    cmdclass={
        "bdist_wheel": PlatformWheel,
        "build_py": BuildWithLibrary,
        "build_scripts": BuildProgram,
        "sdist": SourceWithLibrary,
    },
    scripts=["kappascope"],
    distclass=PlatformDistribution,
    options={
        "build": {"build_base": str(BUILD / "package")},
        "egg_info": {"egg_base": str(BUILD / "package")},
    },
)
