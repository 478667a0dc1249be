# SPDX-License-Identifier: Apache-2.0
"""The site: ./quickstart docs. Pages are MyST; tutorials are programs that are run when it is built; the tables of
quantities come from ../QUANTITIES.md, which the schema prints; both references come from docstrings and headers."""

import re
import sys
from pathlib import Path

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
sys.path.insert(0, str(HERE))
from prepare import docstring_as_rst, prepare, without_namespaces  # noqa: E402

project = "Kappascope"
release = re.search(r"project\(kappascope VERSION (\S+)", (ROOT / "CMakeLists.txt").read_text())[1]
version = release
copyright = "the authors of Kappascope; Apache-2.0"
extensions = ["myst_parser", "breathe", "sphinx.ext.autodoc", "sphinx_design", "sphinx_gallery.gen_gallery"]
myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 3
exclude_patterns = ["_generated", "tutorials"]
highlight_language = "text"  # where a block names none: formulas and commands
html_theme = "furo"
html_title = f"Kappascope {release}"
html_extra_path = ["_generated/extra"]
autodoc_member_order = "bysource"
autodoc_typehints = "signature"
python_use_unqualified_type_names = True
# Each header declares its namespaces again.
suppress_warnings = ["config.cache", "duplicate_declaration.cpp"]
breathe_projects = {"kappascope": str(HERE / "_generated/xml")}
breathe_default_project = "kappascope"
breathe_default_members = ("members", "undoc-members")
sphinx_gallery_conf = {
    "examples_dirs": "tutorials",
    "gallery_dirs": "auto_tutorials",
    "filename_pattern": "/plot_",
    "download_all_examples": False,
    "remove_config_comments": True,
    "min_reported_time": 10_000,
    "show_memory": False,
    "write_computation_times": False,
    "only_warn_on_example_error": False,
    "abort_on_example_error": True,
    "within_subsection_order": "FileNameSortKey",
}


def setup(app) -> None:
    app.connect("config-inited", lambda app, config: prepare(HERE, ROOT), priority=100)
    app.connect("autodoc-process-docstring", docstring_as_rst)
    app.connect("doctree-read", without_namespaces)
