"""One whole report, shared by all tests that look at it: drawing its figures takes a while."""

from pathlib import Path

import pandas as pd
import pytest
from report_made_up import METHODS, SCRIPT, results

from sdsl.report.__main__ import main
from sdsl.report.runs import export
from sdsl.report.runs.results import Results


@pytest.fixture(scope="session")
def report(tmp_path_factory) -> Path:
    """From an exported folder: two datasets, a hostile method, a calibrated setting."""
    folder = tmp_path_factory.mktemp("report")
    literal = results((*METHODS, SCRIPT), ("ug_2c_5d", "satimage"), seeds=2, T=4)
    calibrated = results(("st", "ours"), ("ug_2c_5d",), seeds=2, T=3, prefix="calibrated")
    frame = pd.concat([calibrated.frame, literal.frame])
    curves = {name: {**literal.curves[name], **calibrated.curves[name]} for name in literal.curves}
    both = Results(frame, {**literal.R, **calibrated.R}, curves, ("a <b>note</b>",))
    export.write(both, folder / "given")
    assert main(["--from", str(folder / "given"), "--out", str(folder / "out")]) == 0
    return folder / "out"
