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
    literal.frame.loc[literal.frame.stream == "satimage", "stream_sha256"] = "7" * 64
    frame = pd.concat([calibrated.frame, literal.frame])
    curves = {name: {**literal.curves[name], **calibrated.curves[name]} for name in literal.curves}
    row = {"stream": "satimage", "stream_sha256": "7" * 64, "prefix": "literal", "front": True}
    tradeoff = pd.DataFrame(
        [
            {**row, "weight": 0.0, "acc_online": 0.6, "acc_final": 0.9},
            {**row, "weight": 1.0, "acc_online": 0.95, "acc_final": 0.5},
        ]
    )
    both = Results(
        frame, {**literal.R, **calibrated.R}, curves, ("a <b>note</b>",), tradeoff=tradeoff
    )
    export.write(both, folder / "given")
    assert main(["--from", str(folder / "given"), "--out", str(folder / "out")]) == 0
    return folder / "out"
