"""One whole report for all tests that look at it: figures take a while."""

from pathlib import Path

import pandas as pd
import pytest
from made_up import METHODS, SCRIPT, results

from sdsl.report.__main__ import main
from sdsl.report.runs import export as archive
from sdsl.report.runs.results import Results


@pytest.fixture(scope="session")
def report(tmp_path_factory) -> Path:
    """From an exported folder: two datasets, a hostile method, a calibrated setting."""
    folder = tmp_path_factory.mktemp("report")
    a = results((*METHODS, SCRIPT), ("ug_2c_5d", "satimage"), seeds=2, T=4)
    b = results(("st", "ours"), ("ug_2c_5d",), seeds=2, T=3, prefix="calibrated")
    curves = {name: {**a.curves[name], **b.curves[name]} for name in a.curves}
    both = Results(pd.concat([b.frame, a.frame]), {**a.R, **b.R}, curves, ("a <b>note</b>",))
    archive.export(both, folder / "given")
    assert main(["--from", str(folder / "given"), "--out", str(folder / "out")]) == 0
    return folder / "out"
