"""The table at the end: every row another name, the order asked for, the best marked."""

import re
import sys

import pytest
from cli import SERIAL, call, runs

from sdsl.config.naming import Names
from sdsl.launch.summary import print_summary
from sdsl.launch.types import JobReport
from sdsl.tracking.records import Entry

GRID = ("replay.eta1=0.001,0.01,0.1", "lookback.size=20,100")
SHORT = (
    *("method=ours", "dataset=satimage", "stream.max_segments=1", "learner.pretrain.steps=5"),
    *("labeler.fit.steps=1", "labeler.feedback.steps=1", "replay.steps=1"),
)
GUESS = """
from dataclasses import dataclass
from sdsl.labelers.none import NoLabels
@dataclass
class Guess(NoLabels):
    luck: int
"""


def report(variant: str, online: float, final: float, **changes) -> JobReport:
    metrics = {"acc_online": online, "acc_final": final, "lasting_swap": 0.0}
    given = {
        "names": Names(variant, "d", ""),
        "group": variant,
        "parent": f"parent-{variant}",
        "entries": [Entry(0, f"run-{variant}", metrics)],
        "computed": 1,
        "data": "data",
        "standing": "own",
        "reads_labels": False,
        "uri": "http://server:5000",
        "experiment": "7",
        "notes": [],
    }
    return JobReport(**given | changes)


def methods(out: str) -> list[str]:
    """The first column."""
    return [line.split("│")[1].strip() for line in out.splitlines() if line.startswith("│")]


def test_a_grid_has_a_name_for_every_point(here, capfd):
    assert call("-m", SERIAL, *SHORT, *GRID) == 0
    out = capfd.readouterr().out
    parents = runs("group")
    assert len({run.info.run_name for run in parents}) == 6
    params = {(p.data.params["replay.eta1"], p.data.params["lookback.size"]) for p in parents}
    assert len(params) == 6
    for run in parents:
        variant = run.data.tags["variant"]
        assert run.info.run_name == f"{variant} · satimage · max_segments=1"
        assert ("replay.eta1=0.001" in variant) == (run.data.params["replay.eta1"] == "0.001")
        assert ("lookback.size=20" in variant) == (run.data.params["lookback.size"] == "20")
    cells = "".join(methods(out))  # a long name is broken, not cut
    for eta in ("0.001", "0.1"):
        assert len(re.findall(rf"replay\.eta1={eta}\b", cells)) == 2
    assert cells.count("lookback.size=20") == 3


def test_a_labeler_of_ones_own_is_named(here, monkeypatch, capfd):
    (here / "lab" / "conf" / "labeler").mkdir(parents=True)
    (here / "lab" / "conf" / "labeler" / "guess.yaml").write_text("name: lab.guess\nluck: 1\n")
    (here / "lab" / "guess.py").write_text(GUESS)
    monkeypatch.syspath_prepend(str(here))
    for name in [name for name in sys.modules if name.partition(".")[0] == "lab"]:
        monkeypatch.delitem(sys.modules, name)  # of another test
    line = ("--config-dir", "lab/conf", "method=st", "labeler=guess", "dataset=twonorm")
    assert call(*line, "stream.max_segments=1") == 0
    assert call(*line, "stream.max_segments=1", "labeler.luck=7") == 0
    shown = methods(capfd.readouterr().out)
    names = ["st (labeler=lab.guess)", "st (labeler=lab.guess, labeler.luck=7)"]
    assert shown == names
    assert sorted(run.data.tags["variant"] for run in runs()) == names


@pytest.mark.parametrize(
    ("sort", "order"),
    [("typed", ["b", "a", "c"]), ("acc_t", ["c", "a", "b"]), ("acc_T", ["b", "c", "a"])],
)
def test_the_order(capsys, sort, order):
    print_summary([report("b", 0.1, 0.9), report("a", 0.2, 0.1), report("c", 0.3, 0.5)], sort)
    assert methods(capsys.readouterr().out) == order


def test_an_order_that_is_none_is_refused(here, capfd):
    assert call("sort=alphabet") == 2
    assert "config.sort=alphabet is not a choice" in capfd.readouterr().err


def test_the_best_is_marked_and_the_columns_are_explained(capsys):
    other = report("b", 0.99, 0.1, names=Names("b", "another stream", ""), group="other")
    bound = report("jt", 0.95, 0.95, reads_labels=True)
    print_summary([report("a", 0.2, 0.9), report("b", 0.3, 0.5), bound, other])
    out = capsys.readouterr().out
    marked = [line.split("│")[1].strip() for line in out.splitlines() if " * " in line]
    assert marked == ["a", "b"]  # each in one column; the bound reads labels, the other is alone
    assert "30.00 *" in out and "90.00 *" in out
    for words in (
        "Acc_t: accuracy on the current segment, averaged",
        "Acc_T: accuracy of the last model on all segments",
        "*: best on its stream",
    ):
        assert words in out
    assert "±" not in out  # one seed has no spread


def test_all_that_share_the_best_are_marked(capsys):
    print_summary([report("a", 0.3, 0.5), report("b", 0.3, 0.5), report("c", 0.2, 0.5)])
    out = capsys.readouterr().out
    assert out.count("30.00 *") == 2 and "50.00 *" not in out  # where all are equal, none is


def test_a_cell_that_is_left_empty_is_not_marked(capsys):
    """Balanced accuracy is shown where classes are unequal, and it is logged everywhere."""
    entries = [
        [Entry(0, name, {"acc_online": 0.5, "acc_final": 0.5, "balanced_acc_online": value})]
        for name, value in (("a", 0.4), ("b", 0.6))
    ]
    print_summary([report(one[0].run_id, 0, 0, entries=one) for one in entries])
    assert " * " not in capsys.readouterr().out


def test_the_last_lines_say_where_the_runs_are(capsys):
    print_summary([report("a", 0.2, 0.9)])
    out = capsys.readouterr().out.splitlines()
    assert out[-2] == "1 run: run-a"
    page = "http://server:5000/#/experiments/7/runs?searchFilter="
    where = "tags.group_key%20%3D%20%27a%27"
    assert out[-1] == f"Look at them: {page}{where}"

    print_summary([report("a", 0.2, 0.9), report("b", 0.2, 0.9)])
    where = "attributes.run_id%20IN%20%28%27parent-a%27%2C%20%27parent-b%27%29"
    assert capsys.readouterr().out.splitlines()[-1] == f"Look at them: {page}{where}"

    held = [report(str(i), 0.2, 0.9, computed=i % 2) for i in range(20)]
    print_summary(held)
    out = capsys.readouterr().out.splitlines()
    assert out[-2].startswith("20 runs, 10 of them from the store: run-0, run-1, ")
    assert out[-2].endswith("run-7 and 12 more")
    assert out[-1].endswith("tags.kind%20%3D%20%27group%27%20and%20tags.stream%20%3D%20%27d%27")

    print_summary([report("a", 0.2, 0.9, computed=0, uri="sqlite:////else/where.db?timeout=60")])
    out = capsys.readouterr().out.splitlines()
    assert out[-2] == "1 run from the store, nothing was computed: run-a"
    start = (
        "mlflow ui --backend-store-uri sqlite:////else/where.db, then open http://127.0.0.1:5000"
    )
    assert out[-1].startswith(f"Look at them: {start}/#/experiments/7/runs?")
