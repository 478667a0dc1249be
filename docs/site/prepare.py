# SPDX-License-Identifier: Apache-2.0
"""What the site's pages include and is not written by hand: the demo's page and figures, the tables of quantities, and the
pages of the C++ reference."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

from sphinx.addnodes import desc

HEAD = "| series | unit | what it is |"
ENTRY = """### `{series}`
{what}

| | |
|---|---|
| unit | {unit} |
| interval | {interval} |
| estimator | {estimator} |
| seen equal to | {seen} |
| cost of a window | {cost} |
"""


def rows_of_quantities(markdown: str) -> list[list[str]]:
    """The cells of the table that the schema prints; a bar within a cell is escaped there."""
    table = markdown[markdown.index(HEAD) :].splitlines()[2:]
    rows = [line for line in table if line.startswith("|")]
    return [[cell.strip() for cell in re.split(r"(?<!\\)\|", row)[1:-1]] for row in rows]


def write_quantities(source: Path, folder: Path) -> None:
    """A file for each family of series, with an entry for each series."""
    families: dict[str, list[str]] = {}
    for series, unit, what, interval, estimator, seen, cost in rows_of_quantities(source.read_text()):
        name = series.strip("`")
        if what.startswith("of ") and unit != "1":
            what = f"{unit} {what}"
        entry = ENTRY.format(
            series=name,
            what=(what[0].upper() if what[0].isascii() else what[0]) + what[1:] + ".",
            unit=unit,
            interval=interval,
            estimator=estimator,
            seen=seen,
            cost=cost or "-",
        )
        families.setdefault(name.partition("/")[0], []).append(entry)
    folder.mkdir(parents=True, exist_ok=True)
    for family, entries in families.items():
        (folder / f"{family}.md").write_text("\n".join(entries))


def write_usual(source: Path, target: Path) -> None:
    """What is usual of learning times and of what the mean costs, a row for each width and stage."""
    head = "| rows | features | after steps | steps to 90 % | the mean costs | layers | runs |\n|---|--:|--:|--:|--:|--:|--:|"
    cells: dict[tuple, dict] = {}
    for one in json.loads(source.read_text()):
        place = (one["rows"], tuple(one["widths"]), tuple(one["steps"]))
        cells.setdefault(place, {})[one["series"]] = one
    lines = []
    for (rows, widths, steps), found in sorted(cells.items()):
        shown = [found.get(series) for series in ("learning/second_moment", "learning/mean_costs")]
        ranges = [f"{one['low']:g} to {one['high']:g} ({one['middle']:g})" if one else "-" for one in shown]
        most = max((one for one in shown if one), key=lambda one: one["layers"])
        in_words = {"sequences": "in sequences", "single": "one by one"}[rows]
        widths_in_words = ", ".join(map(str, widths))
        lines.append(
            f"| {in_words} | {widths_in_words} | {steps[0]} to {steps[1]} | {ranges[0]} | {ranges[1]} "
            f"| {most['layers']} | {most['runs']} |"
        )
    target.write_text("\n".join([head, *lines]) + "\n")


def write_page(source: Path, target: Path) -> None:
    """Without its first line; links into the repository become text, but not those of pictures."""
    text = source.read_text().partition("\n")[2]
    target.write_text(re.sub(r"(?<!!)\[([^]]*)\]\((?!http)[^)]*\)", r"\1", text))


def prepare(here: Path, root: Path) -> None:
    """Once a build: a minute and a half, for four trainings of the demo."""
    made = here / "_generated"
    shutil.rmtree(made, ignore_errors=True)
    extra, figures = made / "extra", made / "figures"
    extra.mkdir(parents=True)
    write_quantities(root / "docs/QUANTITIES.md", made / "quantities")
    write_page(root / "CHANGELOG.md", made / "changelog.md")
    write_page(root / "theory/REPORT.md", made / "findings.md")
    shutil.copytree(root / "theory/report", made / "report")
    write_usual(root / "reports/diagnosis/usual.json", made / "usual.md")
    program = os.environ.get("KAPPASCOPE_PROGRAM") or str(root / "build/release/bin/kappascope")
    # Without a limit every picture has its windows, on a slow machine too.
    demo, measured = made / "demo", made / "measured"
    for out, budget in ((demo, []), (measured, ["--budget", "0"])):
        words = [sys.executable, "-m", "kappascope.demo", "--out", out, *budget, "--no-browser"]
        subprocess.run(words, check=True)
    shutil.copy(demo / "report.html", extra / "demo.html")
    words = [program, "report", measured / "none", measured / "post-gating", "--out", made / "page.html", "--figures", figures, "--format", "svg"]
    subprocess.run(words, check=True, stdout=subprocess.DEVNULL)
    copy_doxygen(root / "build/release/docs/xml", made / "xml")  # the target `docs`
    shutil.rmtree(here / "auto_cpp", ignore_errors=True)
    write_cpp_reference(root, here / "auto_cpp")


LAYERS = ("core", "linalg", "tensor", "curvature", "nn", "session", "probes", "store", "reports")
HEADER = """## `{name}`

```{{doxygenfile}} {name}
```
"""
PROGRAM = """## `{name}`

```{{literalinclude}} ../../../examples/{name}
:language: cpp
```
"""


def copy_doxygen(source: Path, target: Path) -> None:
    """Its index names a file by its last part, where Breathe looks for the path."""

    def with_path(entry: re.Match) -> str:
        path = re.findall(r'<location file="([^"]*)"', (source / f"{entry[1]}.xml").read_text())[-1]
        return f'<compound refid="{entry[1]}" kind="file"><name>{path}</name>'

    shutil.copytree(source, target)
    index = target / "index.xml"
    index.write_text(re.sub(r'<compound refid="([^"]*)" kind="file"><name>[^<]*</name>', with_path, index.read_text()))


def write_cpp_reference(root: Path, folder: Path) -> None:
    """A page for each layer, with an entry for each public header, and one of the programs."""
    include = root / "include"
    headers = sorted(include.glob("kappascope/*/**/*.h"))
    layers = {layer: [h for h in headers if h.relative_to(include).parts[1] == layer] for layer in LAYERS}
    missed = set(headers) - {header for some in layers.values() for header in some}
    if missed:
        raise ValueError(f"no page of the reference has {sorted(missed)}")
    folder.mkdir()
    for layer, some in layers.items():
        entries = [HEADER.format(name=header.relative_to(include)) for header in some]
        (folder / f"{layer}.md").write_text("\n".join([f"# {layer}\n", *entries]))
    programs = [PROGRAM.format(name=program.name) for program in sorted(root.glob("examples/*.cpp"))]
    (folder / "examples.md").write_text("\n".join(["# Programs\n\nEach is compiled and run as a test.\n", *programs]))


def without_namespaces(app, doctree) -> None:
    """A header's declarations stand below it, not below the namespaces that they are in."""
    for entry in list(doctree.findall(desc)):
        if entry["domain"] == "cpp" and entry[0].astext().startswith("namespace "):
            place = entry.parent.index(entry)
            entry.parent["ids"] += entry[0]["ids"]  # links to the namespace lead to its first header
            entry.parent[place : place + 1] = entry[1].children


PARAMETER = re.compile(r"^([a-z_]+(?:, [a-z_]+)*): (.*)$")


def docstring_as_rst(app, what, name, obj, options, lines: list[str]) -> None:
    """The package's docstrings are plain text: a paragraph, `name: text` for an argument, programs indented."""
    out: list[str] = []
    in_code = in_argument = False
    for i, line in enumerate(lines):
        text = line.replace("\\", "\\\\").replace("*", "\\*").replace("|", "\\|").replace("_ ", "\\_ ")
        text = re.sub(r"(?<!`)`([^`]+)`(?!`)", r"``\1``", text)
        blank_before = i == 0 or not lines[i - 1].strip()
        if not line.strip():
            out.append("")
        elif line.startswith("    ") and in_argument:
            out.append(text)
        elif line.startswith("    ") and (in_code or blank_before):
            if not in_code:
                out += ["::", ""]
            in_code = True
            out.append(line)
        elif (argument := PARAMETER.match(line)) and (blank_before or in_argument):
            in_code, in_argument = False, True
            out.append(f":{argument[1]}: " + text.partition(": ")[2])
        else:
            if in_code or in_argument:
                out.append("")
            in_code = in_argument = False
            out.append(text.strip())
    lines[:] = out
