"""Algorithm 2 as printed: how far its runs come, beside the reading that can be run."""

import dataclasses

import pandas as pd
from report_made_up import results

from sdsl.report import erratum
from sdsl.report.aside.erratum import tables
from sdsl.report.build import build
from sdsl.report.runs import export


def measured(**changes):
    rows = {"stream": "satimage", "stream_sha256": "e", "seed": [0, 1], "T": 8}
    return pd.DataFrame({**rows, "learned": [0, 3], "acc_online": [None, 0.5], **changes})


def made(table):
    found = results(methods=("ours", "ours_literal"), datasets=("satimage",), seeds=3)
    return dataclasses.replace(found, erratum=table)


def test_what_is_carried_stands_beside_what_starts_anew():
    found = made(measured())
    (aside,) = tables(found)
    carried, fresh = aside.frame.to_numpy().tolist()
    assert carried == ["Satimage", "carried, as printed", "0 of 2", "0 to 3 of 8", "0.500 (1)"]
    assert fresh[:4] == ["Satimage", "0 in every iteration", "3 of 3", "8 of 8"]
    mean = found.scores("ours_literal", "satimage", "acc_online").mean()
    assert fresh[4].startswith(f"{mean:.3f} ± ")
    assert list(tables(made(pd.DataFrame()))) == []


def test_it_is_exported_read_again_and_shown_on_the_page(tmp_path):
    export.write(made(measured(acc_online=[0.25, 0.5])), tmp_path / "kept")
    back = export.read(tmp_path / "kept")
    assert back.erratum.learned.tolist() == [0, 3]
    build(export.read_all([tmp_path / "kept"]), tmp_path / "out", with_figures=False)
    assert "0 to 3 of 8" in (tmp_path / "out" / "tables" / "erratum.md").read_text()
    assert "carried, as printed" in (tmp_path / "out" / "index.html").read_text()


def test_a_seed_is_measured_until_it_overflows(monkeypatch, capsys):
    from sdsl.core.finite import NotFinite

    def broken(setup, stream, seen):
        assert setup.config["replay"]["xi"] == "carried"
        seen(1, 0.75)
        raise NotFinite("made up")

    monkeypatch.setattr(erratum.experiment, "run_on", broken)
    found = erratum.measure("twonorm", 7)
    assert (found["seed"], found["learned"], found["acc_online"], found["T"]) == (7, 1, 0.75, 36)
    assert "learned 1" in capsys.readouterr().out
