#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes theory/REPORT.md from template.md and the numbers of ../results.json.

    experiments/report/write.py            # rewrites the text
    experiments/report/write.py --check    # exit status 1 where it would change

A field {{WORD ...}} of the template prints a number and stops where the results no longer bear the sentence around it: `lower`
and `higher` want a difference of that sign whose interval leaves out zero, `unsure` one whose does not, `refuted`, `holds` and
`open` a verdict. Sentences without a field are checked by a reader. figures.py draws the pictures.
"""

import hashlib
import json
import re
import sys
import textwrap
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
REPORT = HERE.parents[1] / "theory/REPORT.md"
# Of the figure of losses; hessian-vitvae has runs of pgb-controlled.
STUDIES = ("centring", "constant-regression", "pgb-controlled", "pgb-vitvae", "hessian-evolution", "pgb-phi3", "pgb-gemma3")
HEAD = "<!-- Written by experiments/report/write.py from template.md: do not edit. -->\n"
NUMBER = r"([-+]?\d[-+\d.e]*)"


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

    def digest_of_losses(self) -> str:
        """By which the figure of the losses is known to be of these results."""
        return hashlib.sha256(json.dumps(self.losses(), sort_keys=True).encode()).hexdigest()

    def verdict(self, claim: str, study: str) -> dict[str, Any]:
        return next(v for v in self._studies[study]["verdicts"] if v["claim"] == claim)


class Test:
    """A difference that stands in the text of a verdict: its claim was decided by it, or it is described beside it."""

    def __init__(self, verdict: dict[str, Any], before: str) -> None:
        pattern = f"{re.escape(before)} {NUMBER}( times)? \\[{NUMBER}, {NUMBER}\\] from {NUMBER}, \\d+ pairs"
        found = re.search(pattern, verdict["condition"])
        require(found is not None, f"{verdict['claim']} tests {before}")
        assert found is not None
        value, times, lower, upper, base = found.groups()
        self.base = float(base)
        shift, scale = (1.0, self.base) if times else (0.0, 1.0)
        self.difference, self.lower, self.upper = (scale * (float(x) - shift) for x in (value, lower, upper))

    def printed(self, sign: float, unit: str) -> str:
        """In per cent of the control's median, or in `unit`; lower to higher."""
        scale = sign if unit else sign * 100 / self.base
        low, high = sorted((scale * self.lower, scale * self.upper))
        return interval(scale * self.difference, low, high, f" {unit}" if unit else " %")


def number(value: float) -> str:
    return f"{value:.3g}".replace("-", "−")


def interval(value: float, lower: float, upper: float, unit: str = "") -> str:
    return f"{number(value)}{unit} [{number(lower)}, {number(upper)}]"


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
            # A line that begins with a per cent sign is a comment on the site.
            words = " ".join(item.split()).replace(" %", "\u00a0%")
            items[i] = textwrap.fill(words, 120, subsequent_indent=" " * len(mark[0]), break_on_hyphens=False)
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

    def lower(self, claim: str, study: str, before: str, unit: str = "") -> str:
        """By how much it is lower."""
        found = self._test(claim, study, before)
        require(found.upper < 0, f"{before} is lower by {study}")
        return found.printed(-1, unit)

    def higher(self, claim: str, study: str, before: str, unit: str = "") -> str:
        found = self._test(claim, study, before)
        require(found.lower > 0, f"{before} is higher by {study}")
        return found.printed(1, unit)

    def unsure(self, claim: str, study: str, before: str, unit: str = "") -> str:
        found = self._test(claim, study, before)
        require(found.lower <= 0 <= found.upper, f"{before} is open by {study}")
        return found.printed(1, unit)

    def base(self, claim: str, study: str, before: str) -> str:
        return number(self._test(claim, study, before).base)

    def within(self, study: str, condition: str, arm: str) -> str:
        """A difference of test losses whose interval lies within 1 % of the control."""
        row = self._results.comparison(study, condition, arm, "loss/test")
        numbers = [100 * row[key] / row["control_median"] for key in ("difference", "lower", "upper")]
        require(max(map(abs, numbers)) < 1, f"{arm} is within 1 % by {study}, {condition}")
        return interval(*numbers, unit=" %")

    def also_within(self, *place: str) -> str:
        self.within(*place)
        return ""

    def level(self, claim: str, study: str, before: str) -> str:
        """A mean over seeds with its interval."""
        return interval(*self._level(claim, study, before))

    def above_one(self, claim: str, study: str, before: str) -> str:
        found = self._level(claim, study, before)
        require(found[1] > 1, f"{before} is above 1 by {study}")
        return interval(*found)

    def share(self, claim: str, study: str) -> str:
        return f"{100 * self._results.verdict(claim, study)['measured']:.0f}"

    def output_bias_is_lower(self, _: str) -> str:
        rows = [arms for arms in self._results.losses().values() if {"PGB", "output bias"} <= arms.keys()]
        lower = sum(arms["output bias"]["difference"] < arms["PGB"]["difference"] for arms in rows)
        return f"{lower} of {len(rows)}"

    def refuted(self, claim: str, study: str) -> str:
        return self._outcome(claim, study, "refuted")

    def holds(self, claim: str, study: str) -> str:
        return self._outcome(claim, study, "holds under a condition")

    def also_holds(self, claim: str, study: str) -> str:
        self.holds(claim, study)
        return ""

    def open(self, claim: str, study: str) -> str:
        return self._outcome(claim, study, "too few runs")

    def no_regime(self, claim: str, study: str) -> str:
        return self._outcome(claim, study, "regime not reached")

    def _outcome(self, claim: str, study: str, outcome: str) -> str:
        found = self._results.verdict(claim, study)["outcome"]
        require(found == outcome, f"{claim} is {outcome} by {study}, which says {found}")
        return claim

    def _test(self, claim: str, study: str, before: str) -> Test:
        return Test(self._results.verdict(claim, study), before)

    def _level(self, claim: str, study: str, before: str) -> tuple[float, float, float]:
        text = self._results.verdict(claim, study)["condition"]
        found = re.search(f"{re.escape(before)} {NUMBER} \\[{NUMBER}, {NUMBER}\\]", text)
        require(found is not None, f"{claim} of {study} has a number of {before}")
        assert found is not None
        value, low, high = map(float, found.groups())
        return value, low, high


def main() -> int:
    results = Results((HERE.parent / "results.json").read_text())
    text = Writer(results).fill((HERE / "template.md").read_text())
    text = HEAD + filled(re.sub(r"\n{3,}", "\n\n", text)) + "\n"
    if sys.argv[1:] != ["--check"]:
        REPORT.write_text(text)
    elif REPORT.read_text() != text:
        print(f"{REPORT.name} is not what {HERE.name}/write.py writes: run it", file=sys.stderr)
        return 1
    elif results.digest_of_losses() not in (REPORT.parent / "report/forest.svg").read_text():
        print(f"forest.svg is of other results: run {HERE.name}/figures.py forest", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
