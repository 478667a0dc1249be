# SPDX-License-Identifier: Apache-2.0
"""results.json as Markdown tables, and the limits."""
import statistics

# By top: of the time of the fastest peer that truly reaches 1e-3; for the default call.
PAIRS_LIMIT = {1: 0.6, 5: 0.5, 10: 0.5}
PRODUCT_LIMIT = {"hessian_product": 2.1, "gauss_newton_product": 1.5}
DENSITY_LIMIT, TRACE_LIMIT, TRACKING_LIMIT = 1.15, 30, 8


def ours(tool):
    return tool.startswith("kappascope")


def judged(value, limit, digits=2):
    return f"{value:.{digits}f} (limit {limit:g}{', OVER' if value > limit else ''})"


def ratio(seconds, base):
    """Median of the rounds' ratios; of medians where one side sat rounds out."""
    if len(seconds) == len(base):
        return statistics.median(a / b for a, b in zip(seconds, base))
    return statistics.median(seconds) / statistics.median(base)


def rows(header, body):
    lines = ["| " + " | ".join(header) + " |", "|" + "---|" * len(header)]
    return lines + ["| " + " | ".join(map(str, row)) + " |" for row in body] + [""]


def markdown(results):
    out = [f"{results['machine']}; " + ", ".join(f"{k} {v}" for k, v in results["versions"].items()) + ".", ""]
    for name, problem in results["problems"].items():
        out += [f"#### {name}: {problem['parameters']:,} parameters, loss {problem['loss']:.4f}", ""]
        out += pairs(all_pairs(problem))
        for part, write in (("products", products), ("density", density), ("trace", trace), ("tracking", tracking)):
            if part in problem:
                out += write(problem[part])
    return "\n".join(out)


def all_pairs(problem):
    return [row for key, rows in problem.items() if key.startswith("top-") for row in rows]


def pairs(found):
    body = []
    for k, tol in sorted({(row["k"], -row["tol"]) for row in found}):
        group = [row for row in found if (row["k"], row["tol"]) == (k, -tol)]
        peers = [row for row in group if row["reached"] and not ours(row["tool"])]
        best = min(peers, key=lambda row: statistics.median(row["seconds"]), default=None)
        fewest = min((row["products"] for row in peers), default=None)
        for row in group:
            body.append([k, f"{-tol:g}", row["tool"], setting(row), row["products"] or "-",
                         number(row["residual"]), claim(row), *times(row, best, fewest, -tol)])
    return rows(["k", "tolerance", "tool", "cheapest setting that reaches it", "products",
                 "true residual", "its claim", "seconds", "of the fastest peer's time"], body)


def setting(row):
    words = ", ".join(f"{key} {value:g}" for key, value in row["setting"].items()) or "default"
    if row["reached"]:
        return words
    tried = f"none (last: {words})" if row["products"] else "none"
    return tried if row["gave_up"] is None else f"{tried}, given up after {row['gave_up']:.0f} s"


def number(value):
    return "-" if value is None else f"{value:.1e}"


def claim(row):
    """What the tool says at the first setting at which it says anything, and whether that is so."""
    first = row["first_claim"]
    if first is None:
        return row["says"] if row["claimed"] is None else f"{row['says']}, {number(row['claimed'])}"
    said = "converged" if first["claimed"] is None else number(first["claimed"])
    return f"{said}, true" if first["residual"] <= row["tol"] else f"{said}, FALSE: {number(first['residual'])}"


def times(row, best, fewest, tol):
    if not row["reached"]:
        return "-", "-"
    seconds = f"{statistics.median(row['seconds']):.3g}"
    if best is None:
        return seconds, "no peer reaches it"
    value = ratio(row["seconds"], best["seconds"])
    if row["tool"] != "kappascope" or tol < 1e-3:
        return seconds, f"{value:.2f}"
    more = f", {row['products']} products to {fewest}: OVER" if row["products"] > fewest else ""
    return seconds, judged(value, PAIRS_LIMIT[row["k"]]) + more


def products(found):
    body = []
    for name, seconds in found.items():
        tool, _, kind = name.partition("/")
        if name == "gradient":
            continue
        what = {"": "Hessian", "hessian_product": "Hessian", "gauss_newton_product": "Gauss-Newton"}[kind]
        value = ratio(seconds, found["gradient"])
        body.append([what, tool, judged(value, PRODUCT_LIMIT[kind]) if ours(tool) else f"{value:.2f}"])
    return rows(["product", "tool", "of one gradient's time"], body)


def density(found):
    body = []
    for tool, row in found["tools"].items():
        value = ratio(row["seconds"], found["bare"])
        body.append([tool, row["products"], "{:.4g} to {:.4g}".format(*row["ends"]),
                     judged(value, DENSITY_LIMIT) if ours(tool) else f"{value:.2f}"])
    return rows([f"density, {found['steps']} steps, 1 probe", "products", "range found",
                 f"of {found['steps']} bare products' time"], body)


def trace(found):
    body = [[row["tool"], judged(row["products"], TRACE_LIMIT, 0) if ours(row["tool"]) else f"{row['products']:.0f}",
             percent(row["stderr"]), percent(row["rms"]), percent(row["covered"])] for row in found["rows"]]
    title = f"trace {found['reference']:.1f} ± {found['reference_error']:.1f}, {found['seeds']} seeds"
    return rows([title, "products", "standard error it states", "rms error", "95 % interval covers"], body)


def percent(value):
    return "-" if value is None else f"{100 * value:.1f} %"


def tracking(found):
    mean = statistics.mean(found["products"])
    cold = f"{statistics.mean(found['cold']):.1f}" if found["cold"] else "-"
    worst = number(max(found["residuals"], default=None) if found["residuals"] else None)
    converged = sum(s == "converged" for s in found["status"])
    return rows(["tracking top 5 to 1e-2", "products a snapshot", "cold start", "worst true residual", "converged"],
                [["kappascope", judged(mean, TRACKING_LIMIT, 1), cold, worst,
                  f"{converged} of {len(found['status'])}"]])
