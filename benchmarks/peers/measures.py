# SPDX-License-Identifier: Apache-2.0
"""What is measured on one problem. Every time is one of several rounds in which all tools take turns."""
import copy
import gc
import math
import statistics
import time

import torch

import table
import tools
import truth

NORMAL_95 = statistics.NormalDist().inv_cdf(0.975)
SLOWEST = 3  # a peer's setting is given up at this many times the fastest peer's time


class Bench:
    def __init__(self, problem, exact, top, quick, say):
        self.problem, self.exact, self.top, self.quick, self.say = problem, exact, top, quick, say
        self.tried = {}

    def timed(self, task):
        """Its seconds, those of the work on the device included, and what it gives."""
        self.wait()
        start = time.perf_counter()
        found = task()
        self.wait()
        return time.perf_counter() - start, found

    def wait(self):
        if self.problem.x.is_cuda:
            torch.cuda.synchronize()

    def in_turn(self, tasks, rounds=5, budget=40, first=None, keep=lambda name, medians: True):
        """Seconds by name, a round after the other; `first` is a round that has been run. After the
        first, only those that `keep` wants, and no round that would end after `budget` seconds."""
        times = {name: [first[name]] if first else [] for name in tasks}
        began = time.perf_counter()
        while True:
            done = max(map(len, times.values()))
            if done and self.quick or done >= rounds:
                break
            medians = {name: statistics.median(t) for name, t in times.items() if t}
            wanted = [name for name in tasks if not done or keep(name, medians)]
            if time.perf_counter() - began + sum(medians.get(name, 0) for name in wanted) > budget:
                break
            for name in wanted:
                tools.clean(self.problem)
                gc.collect()
                times[name].append(self.timed(tasks[name])[0])
        tools.clean(self.problem)
        return times

    # One product ---------------------------------------------------------------------------------

    def products(self):
        """Times of one gradient and of one product of each tool; ours from the difference of two
        runs, as its products have no door of their own."""
        self.say(f"{self.problem.name}: products")
        p = self.problem
        repeat = 2 if self.quick else 20 if self.exact.size < 1e6 else 4
        few, many = 2, 2 + repeat
        bare = truth.Product(p.model, p.x, p.y)
        v = torch.randn(self.exact.size, device=p.x.device)
        calls = {"gradient": lambda: torch.autograd.grad(p.loss(), p.params),
                 "PyTorch, graph kept": lambda: bare(v)}
        for kind in ("hessian_product", "gauss_newton_product"):
            for tool in tools.PEERS:
                if hasattr(tool, kind):
                    calls[f"{tool.name}/{kind}"] = getattr(tool, kind)(p)

        def repeated(call):
            return lambda: [call() for _ in range(repeat)]
        tasks = {name: repeated(call) for name, call in calls.items()}
        for tool in tools.OURS[:1]:
            for operator in ("hessian", "ggn"):
                for number in (few, many):
                    tasks[f"{operator} {number}"] = (
                        lambda operator=operator, number=number: tool.products(p, number, operator))
        times = self.in_turn(tasks, rounds=8, budget=60)
        times = {name: t[1:] or t for name, t in times.items()}
        found = {name: [t / repeat for t in times[name]] for name in calls}
        if tools.OURS:
            for operator, kind in (("hessian", "hessian_product"), ("ggn", "gauss_newton_product")):
                pairs = zip(times[f"{operator} {few}"], times[f"{operator} {many}"])
                found[f"kappascope/{kind}"] = [(b - a) / repeat for a, b in pairs]
        return found

    # Eigenpairs ----------------------------------------------------------------------------------

    def pairs(self, k, tol):
        """For each tool the cheapest of its settings that truly reaches `tol`, then their times."""
        self.say(f"{self.problem.name}: top {k} to {tol:g}")
        rows, tasks, first = [], {}, {}
        for tool in [*tools.OURS, *tools.PEERS]:
            mine = [5 * row["first_seconds"] for row in rows if table.ours(row["tool"])]
            theirs = [SLOWEST * t for name, t in first.items() if not table.ours(name)]
            row = self.search(tool, k, tol, max(5, min(mine + theirs, default=math.inf)))
            rows.append(row)
            if row["reached"]:
                first[tool.name] = row["first_seconds"]
                tasks[tool.name] = (lambda tool=tool, row=row: tool.pairs(
                    self.problem, k, tol, row["setting"], tools.Count()))

        def keep(name, medians):
            """Ours and the fastest peers, where rounds are long."""
            if sum(medians.values()) < 5 or table.ours(name):
                return True
            return medians[name] < 1.3 * min(t for other, t in medians.items() if not table.ours(other))
        # A first run may have warmed something up, which counts where runs are short.
        short = min(first.values(), default=0) < 1
        times = self.in_turn(tasks, first=None if short else first, keep=keep) if tasks else {}
        for row in rows:
            row["seconds"] = times.get(row["tool"], [])
        return rows

    def search(self, tool, k, tol, limit):
        best, last, claim, gave_up = None, None, None, None
        for setting in tool.settings(k, tol):
            tried = self.run(tool, k, tol, setting, limit)
            if tried is None:
                gave_up = limit
                break
            stuck = last is not None and tried["residual"] > 0.5 * last["residual"]
            last = tried
            claims = tried["says"] == "converged" and (tried["claimed"] or 0) <= tol
            if claims and claim is None:
                claim = {key: tried[key] for key in ("setting", "products", "claimed", "residual")}
            if tried["residual"] <= tol and tried["right"]:
                if best is None or tried["products"] < best["products"]:
                    best = tried
                if tool.cheapest_first:
                    break
            if stuck:
                break
        row = dict(best or last or {"products": None, "residual": None, "claimed": None,
                                    "says": "-", "setting": {}, "right": False})
        return row | {"k": k, "tol": tol, "tool": tool.name, "reached": best is not None,
                      "first_claim": claim, "gave_up": gave_up}

    def run(self, tool, k, tol, setting, limit):
        """One run, judged; None where it takes too long. PyHessian's does not depend on `tol`."""
        key = (tool.name, k, None if tool.name == "PyHessian" else tol, str(setting))
        if key not in self.tried:
            tools.clean(self.problem)
            torch.manual_seed(1)
            count = tools.Count(limit)
            try:
                seconds, found = self.timed(lambda: tool.pairs(self.problem, k, tol, setting, count))
            except tools.OverBudget:
                return None
            tools.clean(self.problem)
            loss = self.problem.loss().item()
            if abs(found.loss - loss) > 1e-5 * abs(loss):
                raise RuntimeError(f"{tool.name} sees the loss {found.loss}, not {loss}")
            near = max(2 * tol, 1e-4) * self.top[0].abs()
            self.tried[key] = {
                "setting": setting, "products": count.products, "first_seconds": seconds,
                "residual": truth.residual(self.exact, found.values, found.vectors),
                "claimed": found.claimed, "says": found.says,
                "right": len(found.values) >= k and bool(
                    ((found.values[:k].cpu() - self.top[:k]).abs() <= near).all())}
        return self.tried[key]

    # Density, trace, tracking --------------------------------------------------------------------

    def density(self):
        """100 steps of one probe beside 100 bare products."""
        self.say(f"{self.problem.name}: density")
        p, steps = self.problem, 20 if self.quick else 100
        bare = truth.Product(p.model, p.x, p.y)
        v = torch.randn(self.exact.size, device=p.x.device)
        tasks = {"bare": lambda: [bare(v) for _ in range(steps)]}
        found = {}
        # The peers take minutes on the largest problem.
        for tool in [*tools.OURS[:1], *(tools.PEERS if self.exact.size < 2e6 else [])]:
            def task(tool=tool):
                count = tools.Count()
                ends = tool.density(p, steps, count)
                found[label(tool)] = {"products": count.products, "ends": ends}
            tasks[label(tool)] = task
        times = self.in_turn(tasks, budget=60, keep=lambda name, medians: name == "bare" or table.ours(name)
                             or sum(medians.values()) < 10)
        for name, row in found.items():
            row["seconds"] = times[name]
        return {"steps": steps, "bare": times["bare"], "tools": found}

    def trace(self):
        """Products until the standard error is 5 %, and the error there really is, over seeds."""
        self.say(f"{self.problem.name}: trace")
        p, seeds = self.problem, 4 if self.quick else 20
        true, error = trace_reference(truth.Product(p.model, p.x, p.y), 40, 100 if self.quick else 2000)
        rows = []
        for tool in tools.OURS[:1]:
            found = [tool.trace(p, 0.05, seed, tools.Count()) for seed in range(seeds)]
            rows.append({"tool": label(tool), "products": statistics.mean(f.products for f in found),
                         "rms": rms([f.value / true - 1 for f in found]),
                         "stderr": statistics.mean(f.standard_error / abs(f.value) for f in found),
                         "covered": statistics.mean(f.lower <= true <= f.upper for f in found)})
        for tool in tools.PEERS:
            counts, values, errors = [], [], []
            for seed in range(seeds):
                torch.manual_seed(seed)
                count = tools.Count()
                value, stderr = tool.trace(p, 30, seed, count)
                tools.clean(p)
                counts.append(count.products)
                values.append(value / true - 1)
                errors.append(None if stderr is None else stderr / abs(value))
            rows.append({"tool": tool.name, "products": statistics.mean(counts), "rms": rms(values),
                         "stderr": None if errors[0] is None else statistics.mean(errors),
                         "covered": None if errors[0] is None else statistics.mean(
                             abs(v) <= NORMAL_95 * e * (1 + v) for v, e in zip(values, errors))})
        return {"reference": true, "reference_error": error, "seeds": seeds, "rows": rows}

    def tracking(self, snapshots=20, apart=10):
        """Top 5 to 1e-2 at snapshots of further training, each from the last one's vectors, beside a
        cold start."""
        self.say(f"{self.problem.name}: tracking")
        p, tool = copy.deepcopy(self.problem), tools.OURS[0]
        found = {"products": [], "cold": [], "residuals": [], "status": []}
        last = None

        def snapshot(step):
            nonlocal last
            if (step + 1) % apart:
                return
            count = tools.Count()
            pairs = tool.pairs(p, 5, 1e-2, {}, count, start=last)
            last = pairs.found
            found["products"].append(count.products)
            found["status"].append(pairs.says)
            if self.exact.size < 1e6:
                found["residuals"].append(truth.residual(truth.float64_product(p), pairs.values, pairs.vectors))
                tool.pairs(p, 5, 1e-2, {}, count)
                found["cold"].append(count.products)
        p.train(snapshots * apart, each=snapshot)
        return found


def label(tool):
    """Where nobody looks for repeated eigenvalues."""
    return "kappascope" if tool in tools.OURS else tool.name


def trace_reference(product, deflate, probes):
    """Trace and its standard error: a sketch taken exactly, Hutchinson's estimator on the rest."""
    generator = torch.Generator().manual_seed(11)

    def signs():
        return torch.randint(0, 2, (product.size,), generator=generator).mul(2.0).sub(1.0)
    sketch = torch.stack([product(product(signs())) for _ in range(deflate)], 1).double()
    q = torch.linalg.qr(sketch)[0]
    exact = sum((q[:, i] @ product(q[:, i].float()).double()).item() for i in range(deflate))
    samples = []
    for _ in range(probes):
        v = signs().double()
        v -= q @ (q.T @ v)
        samples.append((v @ product(v.float()).double()).item())
    return exact + statistics.mean(samples), statistics.stdev(samples) / len(samples) ** 0.5


def rms(values):
    return (sum(v * v for v in values) / len(values)) ** 0.5
