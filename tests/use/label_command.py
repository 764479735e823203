"""`python -m sdsl.label` in the test's own process, and what the tests of use share."""

import os
import signal
import sys

import numpy as np
import pandas as pd
import pytest
import support

from sdsl import interrupt
from sdsl.label import main

NAMES = np.array(["ant", "bee", "cow"])
PRIVILEGED = ("jt", "oracle_labels", "static_bound")
BLIND = [name for name in support.METHODS if name not in PRIVILEGED]
OWN = ["history.csv", "history.svg"]  # written by the command itself
ASIDE = [*OWN, "to_check.csv"]
# For `sdsl.label` on the files of `days`: short, with labels that are nearly all right.
WORDS = {"gold": "gold.csv", "files": "in", "label": "kind", "out": "done", "method": "pl_conf"}
WORDS |= {"learner.pretrain.steps": "60", "replay.fit.steps": "30"}


def call(*words: str) -> int:
    """The exit status of sdsl.label, run in this process; words replace those of WORDS."""
    given = WORDS | dict(word.split("=", 1) for word in words)
    if given["method"] == "vote":  # which trains nothing
        del given["replay.fit.steps"]
    handlers = {number: signal.getsignal(number) for number in interrupt.SIGNALS}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "argv", ["sdsl.label", *(f"{k}={v}" for k, v in given.items())])
        try:
            main()
        except SystemExit as stop:
            return int(stop.code or 0)
        finally:
            for number, handler in handlers.items():
                signal.signal(number, handler)
    return 0


def labelled(folder: str = "done", count: int = 5) -> pd.DataFrame:
    """All labelled files of a folder, in order of name."""
    names = sorted(name for name in os.listdir(folder) if name[0] != "." and name not in ASIDE)
    assert len(names) == count
    return pd.concat([read(f"{folder}/{name}") for name in names], ignore_index=True)


def read(path: str) -> pd.DataFrame:
    return pd.read_parquet(path) if path.endswith("parquet") else pd.read_csv(path)
