"""The committed results give the committed tables, verdicts and statistics, to the letter."""

from pathlib import Path

import pandas as pd
import pytest

from sdsl.report.build import write_asides, write_statistics, write_tables, write_verdicts
from sdsl.report.runs import export

PAPER = Path(__file__).parents[2] / "outputs" / "paper"
pytestmark = pytest.mark.skipif(
    not (PAPER / "runs.csv").exists(), reason="outputs/paper holds no results yet"
)


def test_the_committed_tables_are_those_of_the_committed_runs(tmp_path):
    results = export.read(PAPER)
    settings = results.paper_and_own().by_setting()
    write_tables(settings, tmp_path / "tables")
    write_asides(results, tmp_path / "tables")
    write_verdicts(settings, tmp_path)
    write_statistics(settings, tmp_path)
    made = {file.relative_to(tmp_path) for file in tmp_path.rglob("*.*")}
    kept = {file.relative_to(PAPER) for file in (PAPER / "tables").iterdir()}
    assert kept == {name for name in made if name.parts[0] == "tables"}
    for name in made:
        assert (tmp_path / name).read_bytes() == (PAPER / name).read_bytes(), name


def test_nothing_uncommitted_ran_and_all_exports_are_one():
    assert [file.parent for file in PAPER.rglob("runs.csv")] == [PAPER]
    assert not pd.read_csv(PAPER / "runs.csv").dirty.any()
