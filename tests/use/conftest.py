"""Models that train for a moment only, and made-up streams."""

import os
from collections.abc import Callable

import numpy as np
import pandas as pd
import pytest
import support
from label_command import NAMES

from sdsl.estimator import StreamClassifier

Segments = list[tuple[np.ndarray, np.ndarray]]
MAJORITY = {
    "lab/majority.py": """
import torch
from sdsl.api import Labeler, Pseudo, Rows, settings

@settings
class Majority(Labeler):
    def start(self, gold, learner, draws):
        self.seen = 0

    def label(self, step, learner):
        self.seen += 1
        y = torch.zeros(len(step.X), dtype=torch.long)
        return Pseudo(y, Rows(step.X, y))
""",
    "conf/labeler/majority.yaml": "_target_: lab.majority.Majority\n",
    "conf/method/majority.yaml": "# @package _global_\ndefaults:\n  - override /labeler: majority\n"
    "  - override /replay: none\nmethod:\n  name: majority\n",
}


@pytest.fixture
def majority(empty_folder, monkeypatch) -> None:
    """A method of one's own below the current folder, which labels all rows alike."""
    for name, text in MAJORITY.items():
        (empty_folder / name).parent.mkdir(parents=True, exist_ok=True)
        (empty_folder / name).write_text(text)
    monkeypatch.syspath_prepend(empty_folder)


@pytest.fixture
def quick() -> Callable[..., StreamClassifier]:
    """quick("ours", X, y, seed=1): a fitted model whose training phases take a few steps."""

    def fitted(method, X, y, seed=0, *overrides):
        config = support.brief(support.composed(f"method={method}", *overrides))
        return StreamClassifier(method, seed).fit_config(X, y, config)

    return fitted


@pytest.fixture
def turning() -> Segments:
    """Segments (X, names) of 60 rows, three classes that turn slowly; the first is gold."""
    table = support.blobs(rows=540, classes=3, d=4, drift=1.0)
    return [(table.X[i : i + 60], NAMES[table.y[i : i + 60]]) for i in range(0, 540, 60)]


@pytest.fixture
def table() -> pd.DataFrame:
    """420 rows with the columns a, b, c and the class in `kind`."""
    data = support.blobs(rows=420, classes=3, d=3, drift=0.5)
    return pd.DataFrame(data.X, columns=list("abc")).assign(kind=NAMES[data.y])


@pytest.fixture
def days(here, table) -> pd.DataFrame:
    """gold.csv and five days in in/: plain, Parquet and gzip; day2 and day4 with labels."""
    os.mkdir("in")
    table[:60].to_csv("gold.csv", index=False)
    for i in range(1, 6):
        part = table[60 * i : 60 * i + 60]
        part = part if i in (2, 4) else part.drop(columns="kind")
        if i == 3:
            part.to_parquet("in/day3.parquet", index=False)
        else:
            part.to_csv(f"in/day{i}.csv{'.gz' if i == 4 else ''}", index=False)
    return table
