"""A table of its own: rows of text with a title and a note, as CSV and as Markdown."""

from collections.abc import Sequence
from dataclasses import dataclass

import pandas as pd

from sdsl.report.output.tables import escaped, measured
from sdsl.report.runs.names import method_name
from sdsl.report.runs.results import Results


@dataclass(frozen=True)
class Aside:
    """`frame` is ready to be shown: a row per method, its columns as headings."""

    name: str  # of its files
    title: str
    note: str
    frame: pd.DataFrame

    def csv(self) -> str:
        return self.frame.to_csv(index=False, lineterminator="\n")

    def markdown(self) -> str:
        heads = [escaped(str(head)) for head in self.frame]
        lines = [f"| {' | '.join(heads)} |", "|---" * len(heads) + "|"]
        for row in self.frame.itertuples(index=False):
            lines.append(f"| {' | '.join(escaped(str(cell)) for cell in row)} |")
        return f"# {self.title}\n\n{self.note}\n\n" + "\n".join(lines) + "\n"


def cell(results: Results, method: str, stream: str, metric: str) -> str:
    """0.549 ± 0.021 (5), or a dash."""
    values = results.scores(method, stream, metric)
    return measured(
        pd.Series(
            {"n": len(values), "mean": values.mean(), "std": values.std(ddof=1)}, dtype=object
        )
    )


def rows(
    results: Results, methods: Sequence[str], streams: dict[str, str], metric: str
) -> list[list[str]]:
    """A row per method: its name and its cells; `streams` are {stream: name}."""
    return [
        [method_name(method), *(cell(results, method, stream, metric) for stream in streams)]
        for method in methods
    ]
