#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Feeds check_includes.py files that break the table, and files that keep it."""
import os
import subprocess
import sys
import tempfile
import unittest

import check_includes

SPDX = "// SPDX-License-Identifier: Apache-2.0\n"
HEADER = SPDX + "#pragma once\n"

GOOD = {
    "include/kappascope/core/error.h": HEADER + "#include <fmt/format.h>\n#include <string>\n",
    "include/kappascope/linalg/features/kappa.h": HEADER + "#include <Eigen/Core>\n",
    "include/kappascope/store/run.h": HEADER + '#include "kappascope/store/record.h"\n',
    "include/kappascope/store/record.h": HEADER,
    "src/linalg/lanczos.cpp": SPDX + "#include <Spectra/SymEigsSolver.h>\n",
    "src/store/database.h": HEADER + "#include <SQLiteCpp/SQLiteCpp.h>\n#include <sys/file.h>\n",
    "src/store/run.cpp": SPDX + '#include "store/database/database.h"\n#include <unistd.h>\n',
    "src/cli/main.cpp": SPDX + "#include <boost/program_options.hpp>\n#include <torch/types.h>\n",
    "src/tensor/moments.cpp": SPDX + '#include "cuda/moments.cuh"\n#include <ATen/ATen.h>\n',
    "src/cuda/moments.cuh": HEADER + "#include <cuda_runtime.h>\n",
    "src/core/time.h": HEADER,
    "src/store/export.cpp": SPDX + '#include "core/time.h"\n',
    "reports/html/page.cpp": SPDX + '#include "parts.h"\n#include "reports/arms.h"\n',
    "reports/html/parts.h": HEADER + "#include <nlohmann/json.hpp>\n",
    "reports/arms.h": HEADER + '#include "kappascope/store/run.h"\n',
    "probes/attach.cpp": SPDX + '#include "kappascope/nn/tapped_linear.h"\n#include "kappascope/store/run.h"\n',
    "tests/support/catch.h": HEADER + "#include <catch2/catch.hpp>\n",
    "tests/store/fixture.h": HEADER,
    "src/lab/study/result.cpp": SPDX + '#include "kappascope/store/run.h"\n#include <nlohmann/json.hpp>\n',
    "src/lab/study/result.h": HEADER,
    "src/lab/report/page.cpp": SPDX + '#include "lab/study/result.h"\n#include "reports/arms.h"\n',
    "theory/claim.cpp": SPDX + '#include "lab/study/result.h"\n',
    "examples/read_run.cpp": SPDX + '#include "kappascope/store/run.h"\n#include <torch/types.h>\n',
    "tests/store/run_test.cpp": SPDX + '#include "store/fixture.h"\n#include "support/catch.h"\n',
    "tests/linalg/lanczos_test.cpp": SPDX + "#include <Spectra/SymEigsSolver.h>\n",
}

# file, its text, a part of the message
BAD = [
    ("src/core/a.cpp", SPDX + '#include "kappascope/store/run.h"\n', "core may not include store"),
    ("src/core/a.cpp", SPDX + "#include <Eigen/Core>\n", "core may not include Eigen"),
    ("src/nn/a.cpp", SPDX + '#include "kappascope/linalg/features/kappa.h"\n', "nn may not include linalg"),
    ("src/linalg/a.cpp", SPDX + "#include <torch/types.h>\n", "linalg may not include Torch"),
    ("src/linalg/a.cpp", SPDX + "#  include <c10/core/Scalar.h>\n", "linalg may not include Torch"),
    ("include/kappascope/linalg/a.h", HEADER + "#include <Spectra/SymEigsSolver.h>\n", "a .cpp"),
    ("src/curvature/a.cpp", SPDX + "#include <Spectra/SymEigsSolver.h>\n", "not include Spectra"),
    ("src/store/a.cpp", SPDX + "#include <torch/types.h>\n", "store may not include Torch"),
    ("src/lab/train/a.cpp", SPDX + "#include <SQLiteCpp/SQLiteCpp.h>\n", "lab/train may not include SQLite"),
    ("src/lab/train/a.cpp", SPDX + "#include <nlohmann/json.hpp>\n", "not include nlohmann-json"),
    ("src/lab/train/a.cpp", SPDX + "#include <boost/program_options.hpp>\n", "not include Boost"),
    ("src/lab/train/a.cpp", SPDX + '#include "kappascope/reports/a.h"\n', "lab/train may not include reports"),
    ("src/lab/study/a.cpp", SPDX + '#include "theory/claim.h"\n', "lab/study may not include theory"),
    ("src/lab/study/a.cpp", SPDX + '#include "kappascope/reports/report.h"\n', "lab/study may not include reports"),
    ("src/lab/study/a.cpp", SPDX + "#include <boost/program_options.hpp>\n", "not include Boost"),
    ("src/store/a.cpp", SPDX + '#include "lab/study/result.h"\n', "store may not include lab/study"),
    ("probes/a.cpp", SPDX + '#include "lab/nn/gated_mlp.h"\n', "probes may not include lab/nn"),
    ("reports/a.cpp", SPDX + '#include "lab/report/page.h"\n', "reports may not include lab/report"),
    ("src/cli/a.cpp", SPDX + '#include "lab/cli/settings.h"\n', "cli may not include lab/cli"),
    ("src/lab/more/a.cpp", SPDX, "lab/more is no layer in the table"),
    ("theory/a.cpp", SPDX + '#include "lab/train/loop.h"\n', "theory may not include lab/train"),
    ("theory/a.cpp", SPDX + '#include "kappascope/probes/a.h"\n', "theory may not include probes"),
    ("reports/a.cpp", SPDX + "#include <torch/types.h>\n", "reports may not include Torch"),
    ("reports/a.cpp", SPDX + '#include "kappascope/linalg/features/kappa.h"\n', "not include linalg"),
    ("src/cuda/a.cu", SPDX + '#include "kappascope/core/error.h"\n', "cuda may not include core"),
    ("probes/a.cpp", SPDX + '#include "kappascope/nn/tapped_linear.h"\n', "probes may not include nn"),
    ("src/nn/a.cpp", SPDX + '#include "cli/command.h"\n', "nn may not include cli"),
    ("src/nn/a.cpp", SPDX + '#include "support/catch.h"\n', "nn may not include support"),
    ("tests/nn/a_test.cpp", SPDX + "#include <catch2/catch.hpp>\n", "not include Catch2"),
    ("src/nn/a.cpp", SPDX + "#include <absl/strings/str_cat.h>\n", "of no library in the table"),
    ("src/nn/a.cpp", SPDX + '#include "unknown/a.h"\n', "of no layer in the table"),
    ("src/nn/a.cpp", SPDX + '#include "Eigen/Core"\n', "nn may not include Eigen"),
    ("include/kappascope/store/a.h", HEADER + '#include "core/time.h"\n', "is not installed"),
    ("examples/a.cpp", SPDX + '#include "core/time.h"\n', "is not installed"),
    ("src/nn/a.h", HEADER + '#include "kappascope/linalg/a.h"\n', "nn may not include linalg"),
    ("src/extra/a.cpp", SPDX, "extra is no layer in the table"),
    ("src/core/a.cpp", "#include <string>\n", "no SPDX line"),
    ("src/core/CMakeLists.txt", "project(x)\n", "no SPDX line"),
    ("include/kappascope/core/a.h", SPDX, "#pragma once"),
]


def with_tree(files, action):
    with tempfile.TemporaryDirectory() as root:
        for path, text in files.items():
            file = os.path.join(root, path)
            os.makedirs(os.path.dirname(file), exist_ok=True)
            with open(file, "w", encoding="utf-8") as out:
                out.write(text)
        return action(root)


def faults_of(files):
    return with_tree(files, check_includes.check)[0]


class CheckIncludes(unittest.TestCase):
    def test_files_that_keep_the_table_pass(self):
        self.assertEqual(with_tree(GOOD, check_includes.check), ([], []))

    def test_each_breach_is_found_and_is_the_only_one(self):
        for path, text, message in BAD:
            with self.subTest(path=path, text=text):
                faults = faults_of({**GOOD, path: text})
                self.assertEqual(len(faults), 1, faults)
                self.assertRegex(faults[0], f"^{path}:[0-9]+: ")
                self.assertIn(message, faults[0])

    def test_the_line_is_named(self):
        text = SPDX + "#include <string>\n#include <torch/types.h>\n"
        self.assertIn("src/core/a.cpp:3: ", faults_of({**GOOD, "src/core/a.cpp": text})[0])

    def test_a_long_file_is_only_a_warning(self):
        faults, warnings = with_tree(
            {**GOOD, "src/core/a.cpp": SPDX + "int a;\n" * 300}, check_includes.check
        )
        self.assertEqual(faults, [])
        self.assertIn("src/core/a.cpp: 301 lines", warnings[0])

    def test_the_exit_status_tells(self):
        broken = {**GOOD, "src/core/a.cpp": SPDX + "#include <Eigen/Core>\n"}
        for files, status in ((GOOD, 0), (broken, 1), ({"readme.txt": ""}, 2)):
            run = with_tree(
                files,
                lambda root: subprocess.run(
                    [sys.executable, check_includes.__file__, root],
                    capture_output=True,
                    text=True,
                    check=False,
                ),
            )
            self.assertEqual(run.returncode, status, run.stdout + run.stderr)


if __name__ == "__main__":
    unittest.main()
