"""Sweeps: the jobs, their bar and table, failures, and launchers and sweepers of others."""

import importlib
from pathlib import Path

import pytest
import yaml
from cli import ROOT, SERIAL, TINY, call, runs, status, table
from hydra.core.plugins import Plugins
from support import options

from sdsl.config import composed, setup
from sdsl.launch import job
from sdsl.launch.report import FOLDER, Report, Reporter
from sdsl.launch.table import of_reports, print_table

SWEEP = """# @package _global_
# A sweep of a test.
hydra:
  mode: MULTIRUN
  sweeper:
    params:
      method: st,jt
      seed: paper
"""
SWEEPER = """
from hydra.plugins.sweeper import Sweeper

class Best(Sweeper):
    def setup(self, *, hydra_context, task_function, config):
        from hydra.core.plugins import Plugins
        self.launcher = Plugins.instance().instantiate_launcher(
            hydra_context=hydra_context, task_function=task_function, config=config)

    def sweep(self, arguments):
        steps = [[f"learner.pretrain.steps={n}"] for n in (0, 60)]
        done = self.launcher.launch([[*arguments, *more] for more in steps], 0)
        open("best.txt", "w").write(str([one.return_value for one in done]))
"""


@pytest.fixture
def jobs(here, monkeypatch) -> list[tuple[str, str, list[int]]]:
    """(method, dataset, seeds) of every job that would have run."""
    found: list[tuple[str, str, list[int]]] = []

    class Noted:
        def __init__(self, setup, tell, tags):
            found.append((setup.name, setup.config["dataset"]["name"], setup.seeds))

        def run(self) -> float:
            return 0.5

    monkeypatch.setattr(job, "Job", Noted)
    return found


def test_the_users_own_line(jobs, capfd):
    assert call("-m", SERIAL, "dataset=glob(*)", "seed=range(5)") == 0
    names = [name for name in options("dataset") if "/" not in name]
    assert sorted(jobs) == [("ours", name, [0, 1, 2, 3, 4]) for name in names]
    assert "8 of 8 jobs" in capfd.readouterr().err


@pytest.mark.parametrize("launcher", [SERIAL, "hydra.launcher.n_jobs=1"])
def test_a_sweep_file_of_ones_own(jobs, here, launcher):
    (here / "mine" / "sweeps").mkdir(parents=True)
    (here / "mine" / "sweeps" / "tiny.yaml").write_text(SWEEP)
    line = ("--config-dir", "mine", "+sweeps=tiny", launcher)
    assert call(*line) == 0
    assert jobs == [(name, "ug_2c_2d", [0, 1, 2, 3, 4]) for name in ("st", "jt")]
    assert call(*line, "seed=1,7") == 0
    assert jobs[2:] == [(name, "ug_2c_2d", [1, 7]) for name in ("st", "jt")]


@pytest.mark.parametrize("file", sorted((ROOT / "sweeps").glob("*.yaml")), ids=lambda f: f.stem)
def test_every_sweep_of_ours_can_be_composed(file):
    """Each value of each parameter, with the first of the others."""
    assert f"+sweeps={file.stem}" in file.read_text()
    params = yaml.safe_load(file.read_text())["hydra"]["sweeper"]["params"]
    values = {}
    for key, value in params.items():
        values[key] = [str(value)] if str(value).startswith("[") else str(value).split(",")
        if "glob" in str(value):
            values[key] = [name for name in options(key) if "/" not in name]
    first = {key: some[0] for key, some in values.items()}
    for key, some in values.items():
        for value in some:
            words = [f"{name}={word}" for name, word in (first | {key: value}).items()]
            setup(composed(*words), words)


def test_a_failing_job_costs_no_other(lab, here, capfd):
    line = ("--config-dir", "lab/conf", "-m", SERIAL, *TINY, "labeler=bomb,none")
    line = (*line, "+hydra.callbacks.mine._target_=lab.hooks.Mine")
    assert call(*line, "++labeler.how=raise") == 1  # `none` has no such setting: refused
    out, err = capfd.readouterr()
    failures = err.split("FAILED ")[1:]
    assert "labeler=bomb" in failures[0] and "ValueError in start (lab/bomb.py" in failures[0]
    assert "labeler=none" in failures[1] and "labeler has no setting 'how'" in failures[1]
    assert err.count("failed: ") == 2 and "Traceback" not in err and "┏" not in out
    assert (here / "ends.txt").read_text().split() == ["nan", "nan"]
    assert [run.info.status for run in runs()] == ["FAILED"]
    (folder,) = here.glob("outputs/multirun/*/*")
    assert "lab/bomb.py" in (folder / "0" / "sdsl.log").read_text()
    assert (folder / "1" / ".hydra" / "overrides.yaml").exists()
    assert not (folder / FOLDER).exists()

    assert call("--config-dir", "lab/conf", "-m", SERIAL, *TINY, "labeler=bomb,none") == 0
    out, err = capfd.readouterr()
    assert "labeler=bomb" in table(out) and "labeler=none" in table(out)
    assert "2 of 2 jobs" in err
    assert sorted(status().values()) == ["FAILED", "FINISHED", "FINISHED"]
    tags = runs()[-1].data.tags
    assert tags["sweep"] and tags["job"] in "01"


def test_a_sweeper_of_somebody_else_gets_acc_t(here, monkeypatch):
    (here / "mine" / "hydra" / "sweeper").mkdir(parents=True)
    named = "_target_: hydra_plugins.best.Best\n"
    (here / "mine" / "hydra" / "sweeper" / "best.yaml").write_text(named)
    (here / "hydra_plugins").mkdir()
    (here / "hydra_plugins" / "best.py").write_text(SWEEPER)
    monkeypatch.syspath_prepend(str(here))
    best = importlib.import_module("hydra_plugins.best").Best
    Plugins.instance().register(best)  # as Hydra does with an installed package
    words = [word for word in TINY if "pretrain" not in word]
    assert call("--config-dir", "mine", "-m", SERIAL, "hydra/sweeper=best", *words) == 0
    low, high = yaml.safe_load(Path("best.txt").read_text())
    assert 0 <= low < high <= 1
    assert {low, high} == {run.data.metrics["acc_online"] for run in runs()}


def test_our_launcher_refuses_a_sweep_before_anything_runs(here, capfd):
    assert call("-m", *TINY[:3], "learner.pretrain.steps=5,-5") == 2
    out, err = capfd.readouterr()
    assert "learner.pretrain.steps=-5 should be greater" in err and "(in the job method=st" in err
    assert out.count("┏") == 0 and runs() == []


def report(job: int, variant: str, online: float, final: float, seed=0, **row) -> Report:
    metrics = {"acc_online": online, "acc_final": final, "lasting_swap": 0.0}
    names = {"variant": variant, "stream": "d", "setting": "", "standing": "own"}
    row = names | {"group_key": variant, "experiment": "7", "parent": f"parent-{variant}"} | row
    ended = {"ended": True, "computed": 1, "runs": [{"seed": seed, "metrics": metrics}]}
    return Report(job, variant, row=row, **ended)


def shown(capsys, *reports: Report) -> str:
    print_table(of_reports(reports), "http://server:5000")
    return capsys.readouterr().out


def test_the_best_is_marked_and_the_columns_are_explained(capsys):
    bound = report(2, "jt", 0.95, 0.95, reads_labels=True)
    other = report(3, "c", 0.99, 0.1, stream="another")
    out = shown(capsys, report(0, "a", 0.2, 0.9), report(1, "b", 0.3, 0.5), bound, other)
    marked = [line.split("│")[1].strip() for line in out.splitlines() if " * " in line]
    assert marked == ["a", "b"]  # each in one column; the bound reads labels, the other is alone
    assert "30.00 *" in out and "90.00 *" in out and "*: best on its stream" in out
    assert "±" not in out and "swapped" not in out and "4 runs, 4 of them made now." in out
    assert "http://server:5000/#/experiments/7/runs" in out and "parent-a" in out
    tied = shown(capsys, report(0, "a", 0.3, 0.5), report(1, "b", 0.3, 0.5))
    assert " * " not in tied  # where all are equal, none is the best
    out = shown(capsys, report(0, "a", 0.2, 0.9), report(1, "a", 0.4, 0.7, seed=1))  # one row
    assert "30.00 ± 14.14" in out and "2 runs, 2 of them" in out


def test_runs_of_another_machine_are_read_from_the_store(here, monkeypatch, capfd):
    """Jobs that do not see the folder of the sweep cannot report; the table has their runs."""
    monkeypatch.setattr(
        Reporter, "__call__", lambda self, **changes: vars(self.report).update(changes)
    )
    assert call("-m", SERIAL, *TINY, "seed=0,1") == 0
    out = capfd.readouterr().out
    assert "twonorm" in table(out) and " ± " in out and "2 runs" in out
