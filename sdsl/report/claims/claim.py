"""A claim of the paper about one dataset, and what the runs say about it."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import pandas as pd

from sdsl.report.claims.statistics import Estimate, paired
from sdsl.report.runs.names import method_name
from sdsl.report.runs.results import Results

REPRODUCED, NOT_REPRODUCED = "reproduced", "not reproduced"
OUT_OF_REACH, NOT_RUN = "out of reach", "not run"
VERDICTS = (REPRODUCED, NOT_REPRODUCED, OUT_OF_REACH, NOT_RUN)
# The fields of all kinds of claims that hold names of methods.
ROLES = ("method", "methods", "better", "than", "over", "under", "among", "target")


@dataclass(frozen=True)
class Finding:
    """The outcome of a test."""

    verdict: str
    numbers: str  # behind the verdict, in words
    undecided: bool = False  # the means are in the claimed order, but the interval includes 0


@dataclass(frozen=True, kw_only=True)
class Claim(ABC):
    """A statement that a number can decide. Each kind of test is a subclass with its parameters."""

    id: str
    where: str  # in the paper
    text: str
    dataset: str

    @property
    def test(self) -> str:
        """The name of the kind of test in claims.yaml."""
        return type(self).__name__.lower()

    @property
    def speaks_of(self) -> set[str]:
        """The methods that it is about."""
        roles = [getattr(self, role, ()) for role in ROLES]
        return {name for role in roles for name in ([role] if isinstance(role, str) else role)}

    @abstractmethod
    def check(self, results: Results) -> Finding:
        """The verdict of the runs of one setting."""

    def holds_in_table_2(self, means: Mapping[str, float]) -> bool | None:
        """Whether the paper's own means agree; None if they say nothing about the claim."""
        return None


@dataclass(frozen=True)
class Gap:
    """How much higher the first method is than the second, over the seeds that both have."""

    first: str
    second: str
    estimate: Estimate

    def __str__(self) -> str:
        gap, interval = self.estimate, self.estimate.interval
        numbers = f"{gap.mean:+.3f} [{interval.low:+.3f}, {interval.high:+.3f}] (n={gap.n})"
        return f"{method_name(self.first)} − {method_name(self.second)} {numbers}"


@dataclass(frozen=True, kw_only=True)
class ScoreClaim(Claim):
    """A claim about the values of a metric."""

    metric: str

    def scores(self, results: Results, method: str) -> pd.Series:
        """seed -> value"""
        return results.scores(method, self.dataset, self.metric)

    def gap(self, results: Results, first: str, second: str) -> Gap | None:
        """None if the two methods share no seed."""
        estimate = paired(self.scores(results, first), self.scores(results, second))
        return Gap(first, second, estimate) if estimate else None

    def not_run(self, results: Results, methods: Iterable[str]) -> Finding:
        """Says which of the methods has no run here."""
        missing = {method for method in methods if self.scores(results, method).empty}
        return Finding(NOT_RUN, f"no run of {names(missing)}" if missing else "no common seed")


def names(methods: Iterable[str]) -> str:
    """'Ours, Record'"""
    return ", ".join(method_name(method) for method in sorted(methods))
