"""All that the page is made of."""

import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import pandas as pd

from sdsl.report.claims.verdicts import Verdict
from sdsl.report.output.figures import Picture
from sdsl.report.output.looks import Look, looks
from sdsl.report.output.tables import Table
from sdsl.report.runs.names import Setting, datasets_in_order, methods_in_order
from sdsl.report.runs.results import Results


class Aside(Protocol):
    """A table beside the paper's: rows of text, ready to be shown."""

    @property
    def name(self) -> str: ...
    @property
    def title(self) -> str: ...
    @property
    def note(self) -> str: ...
    @property
    def frame(self) -> pd.DataFrame: ...


@dataclass(frozen=True)
class Report:
    """Results, and what was made of them."""

    results: Results
    settings: Mapping[Setting, Results]
    judged: Mapping[Setting, Sequence[Verdict]]
    tables: Sequence[Table]
    asides: Sequence[Aside]
    pictures: Sequence[Picture]

    @functools.cached_property
    def methods(self) -> dict[str, int]:
        """method -> its number on the page; all that ran, in order."""
        ran = methods_in_order(self.results.variants())
        return {method: number for number, method in enumerate(ran)}

    @functools.cached_property
    def looks(self) -> dict[str, Look]:
        return looks(self.methods)

    @functools.cached_property
    def streams(self) -> dict[str, int]:
        """stream -> its number on the page; all that ran, in order."""
        ran = datasets_in_order(self.results.streams())
        return {stream: number for number, stream in enumerate(ran)}

    @functools.cached_property
    def shown_streams(self) -> dict[str, int]:
        """Those of the figures and the large tables; the archive's have tables of their own."""
        ran = {stream for results in self.settings.values() for stream in results.streams()}
        return {stream: number for stream, number in self.streams.items() if stream in ran}
