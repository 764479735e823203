"""The kinds of test a claim may ask for: (claim, stream, results) -> verdict with its numbers."""

import ast
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from sdsl.report.claims.statistics import Difference, paired
from sdsl.report.runs.names import method_name
from sdsl.report.runs.results import Results

HOLDS, FAILS, BEYOND, ABSENT = "reproduced", "not reproduced", "out of reach", "not run"
VERDICTS = (HOLDS, FAILS, BEYOND, ABSENT)


@dataclass(frozen=True)
class Finding:
    verdict: str
    numbers: str
    undecided: bool = False  # the claimed order of means holds, but the interval includes 0


Claim = Mapping[str, Any]
KINDS: dict[str, Callable[[Claim, str, Results], Finding]] = {}


def kind(check):
    KINDS[check.__name__] = check
    return check


def run(claim: Claim, stream: str, results: Results) -> Finding:
    return KINDS[claim["test"]](claim, stream, results)


def tolerance(claim: Claim) -> float:
    return max(2 * claim.get("tolerance_std", claim["std"]), 0.02)


@kind
def cell(claim: Claim, stream: str, results: Results) -> Finding:
    values = results.runs(claim["method"], stream, claim["metric"])
    bound, slack = results.bound(stream), tolerance(claim)
    paper = f"paper {claim['mean']:.3f} ± {claim['std']:.3f}, tolerance {slack:.3f}"
    ours = f"here {spread(values)}" if len(values) else "no run here"
    limit = f", static bound {bound:.3f}" if np.isfinite(bound) else ", static bound not run"
    numbers = f"{ours}; {paper}{limit}"
    if len(values) and abs(values.mean() - claim["mean"]) <= slack + 1e-9:
        return Finding(HOLDS, numbers)
    if bound < claim["mean"] - slack - 1e-9:
        return Finding(BEYOND, numbers)
    return Finding(FAILS, numbers) if len(values) else Finding(ABSENT, numbers)


@kind
def order(claim: Claim, stream: str, results: Results) -> Finding:
    sign = -1 if claim.get("lower") else 1
    pairs = [(a, b) for a in _list(claim["better"]) for b in claim["than"]]
    gaps = {pair: _gap(results, stream, claim["metric"], *pair) for pair in pairs}
    if missing := [pair for pair, gap in gaps.items() if gap is None]:
        return _absent({name for pair in missing for name in pair}, claim, stream, results)
    numbers = "; ".join(f"{_pair(*pair)} {told(gap)}" for pair, gap in gaps.items())
    ends = [min(sign * gap.low, sign * gap.high) for gap in gaps.values()]
    ordered = all(sign * gap.mean > 0 for gap in gaps.values())
    if any(np.isnan(end) for end in ends):
        return Finding(ABSENT, f"{numbers}; two common seeds are needed for an interval")
    if all(end > 0 for end in ends):
        return Finding(HOLDS, numbers)
    return Finding(FAILS, numbers, undecided=ordered)


@kind
def bound(claim: Claim, stream: str, results: Results) -> Finding:
    above = "over" in claim
    others = claim["over"] if above else claim["under"]
    gaps = {m: _gap(results, stream, claim["metric"], m, claim["method"]) for m in others}
    if missing := [m for m, gap in gaps.items() if gap is None]:
        return _absent({*missing, claim["method"]}, claim, stream, results)
    if any(gap.n < 2 for gap in gaps.values()):
        return Finding(ABSENT, "two common seeds are needed for an interval")
    beyond = {m: g for m, g in gaps.items() if (g.low > 0 if above else g.high < 0)}
    shown = beyond or dict([max(gaps.items(), key=lambda g: g[1].mean * (1 if above else -1))])
    numbers = "; ".join(f"{_pair(m, claim['method'])} {told(gap)}" for m, gap in shown.items())
    return Finding(FAILS if beyond else HOLDS, numbers if beyond else f"nearest: {numbers}")


@kind
def near(claim: Claim, stream: str, results: Results) -> Finding:
    gap = _gap(results, stream, claim["metric"], claim["method"], claim["target"])
    if gap is None:
        return _absent({claim["method"], claim["target"]}, claim, stream, results)
    verdict = HOLDS if gap.mean >= -claim["within"] else FAILS
    return Finding(verdict, f"{_pair(claim['method'], claim['target'])} {told(gap)}")


@kind
def nearest(claim: Claim, stream: str, results: Results) -> Finding:
    names = [claim["target"], *claim["among"]]
    means = {m: results.runs(m, stream, claim["metric"]).mean() for m in names}
    if any(np.isnan(mean) for mean in means.values()):
        return _absent(set(names), claim, stream, results)
    target = means.pop(claim["target"])
    far = sorted(means, key=lambda m: abs(means[m] - target))
    numbers = ", ".join(f"{method_name(m)} {means[m] - target:+.3f}" for m in far[:3])
    verdict = HOLDS if far[0] == claim["method"] else FAILS
    return Finding(verdict, f"to {method_name(claim['target'])} ({target:.3f}): {numbers}")


@kind
def flat(claim: Claim, stream: str, results: Results) -> Finding:
    return _noise(
        claim,
        stream,
        results,
        lambda b, loss: np.all(loss[b <= claim["upto"] + 1e-9] <= claim["loss"]),
    )


@kind
def drops(claim: Claim, stream: str, results: Results) -> Finding:
    return _noise(
        claim,
        stream,
        results,
        lambda b, loss: np.any(loss[b > claim["after"] + 1e-9] > claim["loss"]),
    )


@kind
def widest(claim: Claim, stream: str, results: Results) -> Finding:
    names = [claim["method"], *claim["than"]]
    curves = {m: noise_curve(results, m, stream) for m in names}
    if missing := {m for m, curve in curves.items() if curve is None}:
        return Finding(ABSENT, f"no flatness probe of {_names(missing)}")
    widths = {m: flat_range(*curve, claim["loss"]) for m, curve in curves.items()}
    numbers = ", ".join(f"{method_name(m)} [0, {w:g}]" for m, w in widths.items())
    wins = all(widths[claim["method"]] > widths[m] for m in claim["than"])
    return Finding(HOLDS if wins else FAILS, f"flat ranges: {numbers}")


@kind
def shape(claim: Claim, stream: str, results: Results) -> Finding:
    rows = results.frame[results.frame.stream == stream]
    known = rows[["rows", "features", "classes"]].dropna()
    if known.empty:
        return Finding(ABSENT, "the shape of the data was not logged" if len(rows) else "no run")
    ours = known.iloc[0].astype(int).tolist()
    numbers = "here {:,} x {}, {} classes; paper {:,} x {}, {} classes"
    verdict = HOLDS if ours == list(claim["size"]) else FAILS
    return Finding(verdict, numbers.format(*ours, *claim["size"]))


def noise_curve(results: Results, variant: str, stream: str, curve: str = "flatness_one_sided"):
    """(b, mean accuracy over seeds) of the flatness probe; None where it was not run."""
    points = results.probed(variant, stream, curve)
    if points.empty:
        return None
    texts = [text for text in results.all_of(variant, stream).bounds if text]
    bounds = ast.literal_eval(texts[0]) if texts else []
    if len(bounds) != points.shape[1]:
        return None
    return np.array(bounds), points.mean().to_numpy()


def flat_range(b: np.ndarray, accuracy: np.ndarray, loss: float) -> float:
    """The largest b up to which the loss against b = 0 never exceeds `loss`."""
    beyond = np.flatnonzero(accuracy[0] - accuracy > loss + 1e-12)
    return float(b[beyond[0] - 1] if len(beyond) else b[-1])


def spread(values) -> str:
    """mean ± std (n), ddof=1; one run has no std."""
    std = f" ± {values.std(ddof=1):.3f}" if len(values) > 1 else ""
    return f"{values.mean():.3f}{std} ({len(values)})"


def told(gap: Difference) -> str:
    return f"{gap.mean:+.3f} [{gap.low:+.3f}, {gap.high:+.3f}] (n={gap.n})"


def _noise(claim, stream, results, holds: Callable[[np.ndarray, np.ndarray], bool]) -> Finding:
    numbers, verdicts = [], []
    for m in claim["methods"]:
        if (curve := noise_curve(results, m, stream)) is None:
            return Finding(ABSENT, f"no flatness probe of {method_name(m)}")
        b, accuracy = curve
        numbers.append(
            f"{method_name(m)} "
            + ", ".join(f"{x:g}: {a:.3f}" for x, a in zip(b, accuracy, strict=True))
        )
        verdicts.append(bool(holds(b, np.round(accuracy[0] - accuracy, 12))))
    return Finding(HOLDS if all(verdicts) else FAILS, "; ".join(numbers))


def _gap(results: Results, stream: str, metric: str, a: str, b: str) -> Difference | None:
    return paired(results.runs(a, stream, metric), results.runs(b, stream, metric))


def _absent(names: Iterable[str], claim: Claim, stream: str, results: Results) -> Finding:
    gone = {m for m in names if results.runs(m, stream, claim["metric"]).empty}
    return Finding(ABSENT, f"no run of {_names(gone)}" if gone else "no common seed")


def _names(methods: Iterable[str]) -> str:
    return ", ".join(method_name(m) for m in sorted(methods))


def _pair(a: str, b: str) -> str:
    return f"{method_name(a)} − {method_name(b)}"


def _list(value: str | list[str]) -> list[str]:
    return [value] if isinstance(value, str) else list(value)
