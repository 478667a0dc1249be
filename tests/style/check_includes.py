#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Holds the layering: which folder may include which layer and which outside library.

    check_includes.py [ROOT]

Prints "file:line: what is wrong" for every #include that breaks the tables below, for every
header without #pragma once and for every source without an SPDX line, and then exits with 1.
Files of more than 300 lines are reported, which does not fail.
"""
import os
import re
import sys

# Layer -> the layers that it may include (itself always). None: all of them. The layers of the
# laboratory are in src/lab, but for theory; no layer of the product includes one of them.
LAYERS = {
    "core": set(),
    "linalg": {"core"},
    "store": {"core"},
    "tensor": {"core", "linalg", "cuda"},
    "cuda": set(),
    "curvature": {"core", "linalg", "tensor"},
    "session": {"core", "linalg", "tensor", "store"},
    "nn": {"core"},
    "probes": {"core", "linalg", "store", "tensor", "curvature", "session"},
    "reports": {"core", "store"},
    "cli": {"core", "store", "reports"},
    "python": {"core", "linalg", "store", "tensor", "curvature", "session", "probes", "reports"},
    "lab/nn": {"core", "tensor", "nn"},
    "lab/data": {"core", "tensor"},
    "lab/train": {"core", "tensor", "curvature", "session", "store", "nn", "probes", "lab/nn", "lab/data"},
    "lab/study": {"core", "store"},
    "lab/report": {"core", "store", "reports", "lab/study"},
    "theory": {"core", "linalg", "store", "lab/study"},
    "lab/cli": None,
    "benchmarks": None,
    "tests": None,
    "examples": None,
}

# The front end of LibTorch's modules alone uses nn: the Python package is built without it.
FRONT_END = {
    "probes/attach.cpp",
    "probes/tapped_session.cpp",
    "include/kappascope/probes/attach.h",
}
OF_FRONT_END = {"nn"}

# Outside library -> (what its includes look like, the layers that may use it).
WITH_LINALG = {"linalg", "tensor", "curvature", "probes", "theory"}
WITH_TORCH = {"tensor", "curvature", "session", "nn", "probes", "lab/nn", "lab/data", "lab/train"}
LIBRARIES = {
    "Torch": (r"(torch|ATen|c10|caffe2)/", WITH_TORCH),
    "Eigen": (r"(unsupported/)?Eigen/", WITH_LINALG),
    "Spectra": (r"Spectra/", {"linalg"}),
    "SQLite": (r"SQLiteCpp/|sqlite3\.h", {"store"}),
    "libzip": (r"zip\.h", {"store"}),
    "zlib": (r"zlib\.h", {"tensor", "store", "lab/data"}),
    "images": (r"png\.h|turbojpeg\.h", {"lab/data"}),
    "nlohmann-json": (r"nlohmann/", {"store", "tensor", "reports", "lab/study", "lab/data"}),
    "Boost.Program_options": (r"boost/program_options", set()),
    "cpp-httplib": (r"httplib\.h", set()),
    "Boost.Math": (r"boost/math/", {"core"}),
    "FLINT": (r"flint/", {"theory"}),
    "CUDA": (r"(cuda|cublas|cusolver|cub/|thrust/|cooperative_groups)", {"cuda"}),
    "Google Benchmark": (r"benchmark/benchmark\.h", set()),
    "Catch2": (r"catch2/", set()),
    "fmt": (r"fmt/", set(LAYERS) - {"cuda"}),
}
# Layers that may use every library, but for those that have one home.
FREE = {"cli", "lab/cli", "python", "benchmarks", "tests", "examples"}
HOMES = {"Boost.Program_options": {"cli", "lab/cli"}, "cpp-httplib": {"cli", "tests"}, "Google Benchmark": {"benchmarks"}, "Catch2": set()}
# The site shows it word for word, and it is a user's code, not ours.
SHOWN_PROGRAM = "tests/install/own_loop.cpp"
ONLY_FILES = {"Catch2": "tests/support/catch.h"}
SOURCES_ONLY = {"Spectra", "Boost.Math"}  # not in headers, which would make it everybody's

STANDARD = re.compile(r"[a-z_0-9]+")
SYSTEM = re.compile(r"(sys/|linux/|net/|netinet/|arpa/)?[a-z]+\.h")
INCLUDE = re.compile(r'\s*#\s*include\s*([<"])([^>"]+)[>"]')

FOLDERS = ["include", "src", "probes", "theory", "reports", "tests", "python", "benchmarks", "examples"]
CODE = (".h", ".hpp", ".cuh", ".cpp", ".cu")
HEADERS = (".h", ".hpp", ".cuh")
WITH_LICENCE = CODE + (".cmake", ".py", ".sh")
LONG = 300


def layer_of(path):
    """The layer that a file belongs to, or None for what all layers share."""
    parts = path.split("/")
    if parts[0] == "include":
        return parts[2] if len(parts) > 3 else None
    if parts[:2] == ["src", "lab"]:
        return "/".join(parts[1:3]) if len(parts) > 3 else None
    if parts[0] == "src":
        return parts[1] if len(parts) > 2 else None
    return parts[0]


def layer_of_include(path, name, root):
    """The layer of a quoted include: public, beside the file, or from src or the root."""
    if name.startswith("kappascope/"):
        return layer_of("include/" + name)
    if os.path.exists(os.path.join(root, os.path.dirname(path), name)):
        return layer_of(path)
    if path.startswith("tests/") and os.path.exists(os.path.join(root, "tests", name)):
        return "tests"
    parts = name.split("/")
    return "/".join(parts[:2]) if parts[0] == "lab" else parts[0]


def check_library(path, layer, name):
    for library, (pattern, users) in LIBRARIES.items():
        if not re.match(pattern, name):
            continue
        home = HOMES.get(library)
        allowed = layer in users or (home is None and layer in FREE)
        allowed = allowed or (home is not None and layer in home)
        if ONLY_FILES.get(library) == path:
            allowed = True
        if not allowed:
            return f"{layer} may not include {library} ({name})"
        if library in SOURCES_ONLY and path.endswith(HEADERS) and layer not in FREE:
            return f"{library} belongs into a .cpp, not into a header ({name})"
        return None
    if STANDARD.fullmatch(name) or SYSTEM.fullmatch(name):
        return None
    return f"{name} is of no library in the table"


def check_layer(path, layer, name, root):
    installed = os.path.exists(os.path.join(root, "include", name))
    if path.startswith(("include/", "examples/")) and not installed:
        return f"{name} is not installed: what users read or copy may not include it"
    other = layer_of_include(path, name, root)
    if other is None or other == layer:
        return None
    if other not in LAYERS and other != "support":
        return f"{name} is of no layer in the table"
    allowed = LAYERS[layer]
    if path in FRONT_END:
        allowed = allowed | OF_FRONT_END
    if other in ("tests", "support", "benchmarks", "python", "examples") and layer != "tests":
        return f"{layer} may not include {other} ({name})"
    if allowed is not None and other not in allowed:
        return f"{layer} may not include {other} ({name})"
    return None


def check_code(path, lines, root):
    """Yields (line number, fault) for one source or header."""
    layer = layer_of(path)
    if layer is not None and layer not in LAYERS:
        yield 1, f"{layer} is no layer in the table"
        return
    for number, line in enumerate(lines, 1):
        include = INCLUDE.match(line)
        if not include or layer is None:
            continue
        quote, name = include.groups()
        # People write libraries in quotes too; a layer's name in front decides.
        ours = name.split("/")[0] in LAYERS or name.startswith(("kappascope/", "lab/"))
        library = any(re.match(pattern, name) for pattern, _ in LIBRARIES.values())
        if quote == "<" or (library and not ours):
            fault = check_library(path, layer, name)
        else:
            fault = check_layer(path, layer, name, root)
        if fault:
            yield number, fault
    if path.endswith(HEADERS) and not any(line.strip() == "#pragma once" for line in lines):
        yield 1, "a header needs #pragma once"


def files_of(root):
    for name in ["CMakeLists.txt"] + FOLDERS:
        if os.path.isfile(os.path.join(root, name)):
            yield name
        for folder, subfolders, files in os.walk(os.path.join(root, name)):
            subfolders[:] = sorted(s for s in subfolders if s not in ("build", "__pycache__"))
            for file in sorted(files):
                path = os.path.relpath(os.path.join(folder, file), root).replace(os.sep, "/")
                if path == SHOWN_PROGRAM:
                    continue
                if path.endswith(WITH_LICENCE) or file == "CMakeLists.txt":
                    yield path


def check(root):
    """Returns (faults, warnings), lists of text."""
    faults, warnings = [], []
    for path in files_of(root):
        with open(os.path.join(root, path), encoding="utf-8") as file:
            lines = file.read().splitlines()
        if not any("SPDX-License-Identifier: Apache-2.0" in line for line in lines[:3]):
            faults.append(f"{path}:1: no SPDX line at the top")
        if path.endswith(CODE):
            faults += [f"{path}:{n}: {fault}" for n, fault in check_code(path, lines, root)]
        if len(lines) > LONG:
            warnings.append(f"{path}: {len(lines)} lines, more than {LONG}; split it by concept?")
    return faults, warnings


def main(arguments):
    root = arguments[0] if arguments else os.getcwd()
    if not os.path.isdir(os.path.join(root, "include", "kappascope")):
        print(f"{root} is not the root of Kappascope's sources", file=sys.stderr)
        return 2
    faults, warnings = check(root)
    for warning in warnings:
        print("warning: " + warning)
    for fault in faults:
        print(fault)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
