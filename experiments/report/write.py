#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes theory/REPORT.md from template.md and the numbers of ../results.json.

    experiments/report/write.py            # rewrites the text
    experiments/report/write.py --check    # exit status 1 where it would change

A sentence of the template states what it rests on. {{OUTCOME CLAIM STUDY}} gives the claim's id and stops where the study
says something else; {{lower ...}} and {{higher ...}} give a difference and stop where its interval holds zero. So no sentence
outlives the runs that it speaks of. figures.py draws the pictures.
"""

import json
import re
import sys
import textwrap
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
REPORT = HERE.parents[1] / "theory/REPORT.md"
# Of the figure of losses; hessian-vitvae has runs of pgb-controlled.
STUDIES = ("centring", "constant-regression", "pgb-controlled", "hessian-evolution", "pgb-phi3", "pgb-gemma3")
HEAD = "<!-- Written by experiments/report/write.py from template.md: do not edit. -->\n"


class Results:
    def __init__(self, text: str) -> None:
        self._studies = {study["study"]: study for study in json.loads(text)["studies"]}

    def comparison(self, study: str, condition: str, arm: str, metric: str) -> dict[str, Any]:
        rows = self._studies[study]["comparisons"]
        found = [r for r in rows if (r["condition"], r["arm"], r["metric"]) == (condition, arm, metric)]
        if len(found) != 1:
            raise ValueError(f"{study} compares {metric} of {arm} under {condition!r} {len(found)} times")
        return found[0]

    def losses(self) -> dict[str, dict[str, dict[str, Any]]]:
        """The test losses against those of no bias, by study with condition and by arm."""
        found: dict[str, dict[str, dict[str, Any]]] = {}
        for name in STUDIES:
            for row in self._studies[name]["comparisons"]:
                if row["metric"] == "loss/test" and row["control"] == "no bias":
                    label = f"{name}, {row['condition']}" if row["condition"] else name
                    found.setdefault(label, {})[row["arm"]] = row
        return found

    def verdict(self, claim: str, study: str) -> dict[str, Any]:
        return next(v for v in self._studies[study]["verdicts"] if v["claim"] == claim)


def number(value: float) -> str:
    return f"{value:.3g}".replace("-", "−")


def interval(value: float, lower: float, upper: float, unit: str = "") -> str:
    return f"{number(value)}{unit} [{number(lower)}, {number(upper)}]"


def share(found: dict[str, Any], text: bool = True) -> Any:
    """A difference in per cent of the control's median, with its 95 % interval."""
    numbers = [100 * found[key] / found["control_median"] for key in ("difference", "lower", "upper")]
    return interval(*numbers, unit=" %") if text else numbers


def filled(text: str) -> str:
    """Paragraphs and items in lines of equal length; tables, headings and pictures as they are."""
    blocks = []
    for block in text.split("\n\n"):
        if block.lstrip().startswith(("|", "#", "!")):
            head, _, rest = block.partition("\n")
            blocks.append(f"{head}\n{filled(rest)}" if block.startswith("#") and rest else block)
            continue
        items = re.split(r"\n(?=- |\d+\. )", block.rstrip("\n"))
        for i, item in enumerate(items):
            mark = re.match(r"- |\d+\. |", item)
            assert mark is not None
            indent = " " * len(mark[0])
            items[i] = textwrap.fill(" ".join(item.split()), 120, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)
        blocks.append("\n".join(items))
    return "\n\n".join(blocks)


def require(holds: bool, what: str) -> None:
    if not holds:
        raise ValueError(f"the results no longer say that {what}")


class Writer:
    """A method for each word that begins a field of the template; a bar parts what follows."""

    def __init__(self, results: Results) -> None:
        self._results = results

    def fill(self, template: str) -> str:
        def field(match: re.Match[str]) -> str:
            word, _, rest = match[1].partition(" ")
            return getattr(self, word)(*(part.strip() for part in rest.split("|")))

        return re.sub(r"\{\{([^}]*)\}\}", field, template)

    def percent(self, *place: str) -> str:
        return share(self._results.comparison(*place))

    def lower(self, *place: str) -> str:
        """By how much it is lower."""
        value, low, high = share(self._results.comparison(*place), text=False)
        require(high < 0, f"{' '.join(place)} is lower")
        return interval(-value, -high, -low, unit=" %")

    def higher(self, *place: str) -> str:
        require(self._results.comparison(*place)["lower"] > 0, f"{' '.join(place)} is higher")
        return self.percent(*place)

    def within(self, *place: str) -> str:
        """A difference that is shown to be less than 1 % of the control."""
        require(max(map(abs, share(self._results.comparison(*place), text=False))) < 1, f"{' '.join(place)} is within 1 %")
        return self.percent(*place)

    def also_within(self, *place: str) -> str:
        self.within(*place)
        return ""

    def difference(self, *place: str) -> str:
        found = self._results.comparison(*place)
        return interval(found["difference"], found["lower"], found["upper"])

    def control(self, *place: str) -> str:
        return number(self._results.comparison(*place)["control_median"])

    def pairs(self, *place: str) -> str:
        return str(self._results.comparison(*place)["pairs"])

    def output_bias_is_lower(self, _: str) -> str:
        rows = [arms for arms in self._results.losses().values() if {"PGB", "output bias"} <= arms.keys()]
        lower = sum(arms["output bias"]["difference"] < arms["PGB"]["difference"] for arms in rows)
        return f"{lower} of {len(rows)}"

    def measured(self, claim: str, study: str) -> str:
        found = self._results.verdict(claim, study)
        return interval(found["measured"], found["lower"], found["upper"])

    def said(self, claim: str, study: str, before: str) -> str:
        """The number and interval that the verdict's text has behind `before`."""
        text = self._results.verdict(claim, study)["condition"]
        found = re.search(re.escape(before) + r" ([-+\d.e]+) \[([-+\d.e]+), ([-+\d.e]+)\]", text)
        require(found is not None, f"{claim} of {study} has a number of {before}")
        assert found is not None
        return interval(*map(float, found.groups()))

    def refuted(self, claim: str, study: str) -> str:
        return self._outcome(claim, study, "refuted")

    def holds(self, claim: str, study: str) -> str:
        return self._outcome(claim, study, "holds under a condition")

    def _outcome(self, claim: str, study: str, outcome: str) -> str:
        found = self._results.verdict(claim, study)["outcome"]
        require(found == outcome, f"{claim} is {outcome} by {study}, which says {found}")
        return claim


def main() -> int:
    results = Results((HERE.parent / "results.json").read_text())
    text = HEAD + filled(re.sub(r"\n{3,}", "\n\n", Writer(results).fill((HERE / "template.md").read_text()))) + "\n"
    if sys.argv[1:] != ["--check"]:
        REPORT.write_text(text)
    elif REPORT.read_text() != text:
        print(f"{REPORT.name} is not what {HERE.name}/write.py writes: run it", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
