"""The kinds of test on the flatness probe: accuracy under noise on every parameter."""

import ast
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sdsl.report.claims.claim import NOT_REPRODUCED, NOT_RUN, REPRODUCED, Claim, Finding, names
from sdsl.report.runs.names import method_name
from sdsl.report.runs.results import Results

ONE_SIDED = "flatness_one_sided"  # the paper's noise, U[0, b]
SYMMETRIC = "flatness_symmetric"  # U[-b, b]
ROUNDING = 1e-9


@dataclass(frozen=True)
class NoiseCurve:
    """Mean accuracy over seeds against the bound b of the noise; the first bound is 0."""

    bounds: np.ndarray  # [points]
    accuracy: np.ndarray  # [points]

    @property
    def loss(self) -> np.ndarray:
        """Against no noise, [points]."""
        return np.round(self.accuracy[0] - self.accuracy, 12)

    def flat_range(self, loss: float) -> float:
        """The largest b up to which the loss is never more than `loss`."""
        beyond = np.flatnonzero(self.accuracy[0] - self.accuracy > loss + 1e-12)
        return float(self.bounds[beyond[0] - 1] if len(beyond) else self.bounds[-1])


def noise_curve(
    results: Results, variant: str, stream: str, noise: str = ONE_SIDED
) -> NoiseCurve | None:
    """None if the probe was not run."""
    points = results.curve(variant, stream, noise)
    logged = [text for text in results.with_probes(variant, stream).bounds if text]
    if points.empty or not logged:
        return None
    bounds = np.array(ast.literal_eval(logged[0]))
    if len(bounds) != points.shape[1]:
        return None
    return NoiseCurve(bounds, points.mean().to_numpy())


@dataclass(frozen=True, kw_only=True)
class NoiseClaim(Claim):
    """A claim about the noise curve of each of `methods`."""

    methods: Sequence[str]
    loss: float

    @abstractmethod
    def holds(self, curve: NoiseCurve) -> bool: ...

    def check(self, results: Results) -> Finding:
        numbers, verdicts = [], []
        for method in self.methods:
            curve = noise_curve(results, method, self.dataset)
            if curve is None:
                return Finding(NOT_RUN, f"no flatness probe of {method_name(method)}")
            points = zip(curve.bounds, curve.accuracy, strict=True)
            shown = ", ".join(f"{b:g}: {accuracy:.3f}" for b, accuracy in points)
            numbers.append(f"{method_name(method)} {shown}")
            verdicts.append(self.holds(curve))
        return Finding(REPRODUCED if all(verdicts) else NOT_REPRODUCED, "; ".join(numbers))


@dataclass(frozen=True, kw_only=True)
class Flat(NoiseClaim):
    """The loss is at most `loss` up to the bound `upto`."""

    upto: float

    def holds(self, curve: NoiseCurve) -> bool:
        return bool(np.all(curve.loss[curve.bounds <= self.upto + ROUNDING] <= self.loss))


@dataclass(frozen=True, kw_only=True)
class Drops(NoiseClaim):
    """The loss is more than `loss` at some bound above `after`."""

    after: float

    def holds(self, curve: NoiseCurve) -> bool:
        return bool(np.any(curve.loss[curve.bounds > self.after + ROUNDING] > self.loss))


@dataclass(frozen=True, kw_only=True)
class Widest(Claim):
    """The flat range of `method` is wider than that of each of `than`."""

    method: str
    than: Sequence[str]
    loss: float

    def check(self, results: Results) -> Finding:
        widths, missing = {}, []
        for method in (self.method, *self.than):
            if curve := noise_curve(results, method, self.dataset):
                widths[method] = curve.flat_range(self.loss)
            else:
                missing.append(method)
        if missing:
            return Finding(NOT_RUN, f"no flatness probe of {names(missing)}")
        shown = ", ".join(f"{method_name(m)} [0, {width:g}]" for m, width in widths.items())
        wins = all(widths[self.method] > widths[other] for other in self.than)
        return Finding(REPRODUCED if wins else NOT_REPRODUCED, f"flat ranges: {shown}")
