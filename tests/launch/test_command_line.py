"""The command line: every spelling, every refusal, components of somebody's own."""

import subprocess
import sys

import pytest
from cli import ROOT, SERIAL, TINY, TINY_NAME, call, checked_only, runs, status

from sdsl.config import help as choices

SWEEP = """# A sweep of a test.
# @package _global_
hydra:
  mode: MULTIRUN
  sweeper:
    params:
      method: st,jt
      seed: {seed}
"""


@pytest.fixture
def setups(here, monkeypatch) -> list:
    """The setup of every job that would have run."""
    return checked_only(monkeypatch)


def jobs(setups) -> list[tuple]:
    """(method, dataset, seeds)"""
    return [(setup.name, setup.dataset.name, setup.seeds) for setup in setups]


@pytest.mark.parametrize("mode", [(), ("-m", SERIAL)])
@pytest.mark.parametrize(
    ("word", "seeds"),
    [
        ("seed=3", [3]),
        ("seed=17", [17]),
        ("seed=range(5)", [0, 1, 2, 3, 4]),
        ("seed=0,2", [0, 2]),
        ("seed=paper", [0, 1, 2, 3, 4]),
    ],
)
def test_spellings_of_seed(setups, mode, word, seeds):
    assert call(*mode, "method=st", word) == 0
    assert jobs(setups) == [("st", "ug_2c_2d", seeds)]


def test_the_users_own_line(setups):
    assert call("-m", SERIAL, "method=st", "dataset=glob(*)", "seed=range(5)") == 0
    conf = ROOT / "conf" / "dataset"
    assert sorted(jobs(setups)) == [
        ("st", p.stem, [0, 1, 2, 3, 4]) for p in sorted(conf.glob("*.yaml"))
    ]


def test_one_job_per_seed(setups):
    assert call("-m", SERIAL, "method=st", "seed=range(3)", "fuse=false") == 0
    assert jobs(setups) == [("st", "ug_2c_2d", [seed]) for seed in range(3)]


@pytest.mark.parametrize("inside", ["paper", "range(5)", "0,1,2,3,4"])
def test_a_sweep_file(setups, here, inside):
    (here / "mine" / "sweeps").mkdir(parents=True)
    (here / "mine" / "sweeps" / "tiny.yaml").write_text(
        SWEEP.format(seed=inside).replace("# A sweep of a test.\n", "")
    )
    line = ("--config-dir", "mine", "+sweeps=tiny", SERIAL)
    assert call(*line) == 0
    assert jobs(setups) == [(m, "ug_2c_2d", [0, 1, 2, 3, 4]) for m in ("st", "jt")]
    setups.clear()
    assert call(*line, "seed=1,7") == 0
    assert jobs(setups) == [(m, "ug_2c_2d", [1, 7]) for m in ("st", "jt")]


def test_the_command_line_wins_over_the_method(setups):
    assert call("method=jt", "labeler=none") == 0
    config = setups[0].config
    assert (config["labeler"]["name"], config["replay"]["name"]) == ("none", "joint")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["method=stt"], "Did you mean 'st'? Choices: "),
        (["metod=st"], "Did you mean 'method'? Choices: checkpoint, data, dataset,"),
        (["dataset=ug_2c_2"], "Did you mean 'ug_2c_2d'?"),
        (["seed=papr"], "Choices: one, paper."),
        (["seed=-1"], "none negative"),
        (["seed=[4,4]"], "distinct"),
        (["learner.pretrain.lr=-1"], "learner.pretrain.lr=-1.0 is out of range"),
        (["learner.pretrain.lr=fast"], "learner.pretrain.lr='fast': expected a number"),
        (["learner.pretain.lr=1"], "learner has no parameter 'pretain'. Did you mean 'pretrain'?"),
        (["+learner.rate=1"], "learner has no parameter 'rate'. Choices: hidden, pretrain."),
        (["lookback=3"], "'lookback' must hold settings"),
        (["labeler.name=../../etc"], "is not a module name"),
        (["labeler.name=nobodys.package"], "Is the package installed?"),
        (["dataset.segment_size=many"], "dataset.segment_size='many': expected a whole number"),
        (["dataset.segment_size=5000"], "fewer than two segments"),
        (["dataset=own/csv"], "dataset.path has no value"),
        (["dataset=own/csv", "dataset.path=nowhere.csv"], "no such file"),
        (["tracking.uri=5"], "tracking.uri=5: expected text"),
        (["data.cache=5"], "data.cache=5: expected text"),
        (["tracking.uri=file:here"], "The MLflow store file:here"),
        (["fuse=perhaps"], "fuse='perhaps': expected true or false"),
        (["-m", "hydra.launcher.n_jobs=many"], "hydra.launcher.n_jobs='many': expected a whole"),
        (["-m", "+hydra.launcher.jobs=2"], "hydra.launcher has no parameter 'jobs'. Did you mean"),
        (["-m", "hydra/launcher=ray", "hydra.launcher.cpus=-1"], "cpus=-1.0 is out of range"),
        (["lr=["], "Cannot read 'lr=['"),
        (["method=st,jt"], "add -m to sweep"),
        (["-m", "learner.pretrain.steps=5,-5"], "(in the job "),
        (["--config-dir", "nowhere"], "not found"),
    ],
)
def test_refusals(here, capfd, words, said):
    line = [w for w in TINY if not any(w.split("=")[0] == v.split("=")[0] for v in words)]
    assert call(*words, *line) == 2
    out, err = capfd.readouterr()
    assert said in err
    assert "Traceback" not in err and "HYDRA_FULL_ERROR" not in err
    assert out == ""


def test_a_name_that_stands_twice_is_refused(here, capfd):
    (here / "mine" / "labeler").mkdir(parents=True)
    (here / "mine" / "labeler" / "none.yaml").write_text("name: oracle\n")
    assert call("--config-dir", "mine", *TINY) == 2
    assert call("--config-dir", "mine", "-m", *TINY) == 2
    assert capfd.readouterr().err.count("labeler=none is defined twice") == 2


def test_a_component_from_somebodys_own_package(here, monkeypatch):
    (here / "mine" / "labeler").mkdir(parents=True)
    (here / "mine" / "labeler" / "guess.yaml").write_text("name: strangers.guess\nwrong: 1\n")
    (here / "strangers").mkdir()
    (here / "strangers" / "guess.py").write_text(
        "from dataclasses import dataclass\n"
        "from sdsl.labelers.none import NoLabels\n"
        "@dataclass\n"
        "class Guess(NoLabels):\n"
        "    right: int\n"
    )
    monkeypatch.syspath_prepend(str(here))
    line = ("--config-dir", "mine", *TINY, "labeler=guess", "~labeler.wrong")
    assert call(*line, "+labeler.right=2") == 0
    assert runs()[0].data.tags["labeler"] == "strangers.guess"
    assert call(*line[:-1]) == 2  # `wrong` is no parameter of it


def test_help_lists_every_choice_and_loads_nothing_heavy():
    code = (
        "import sys; sys.argv = ['sdsl.run', '--help']\n"
        "from sdsl.run import main\n"
        "try: main()\n"
        "finally: print('HEAVY', [m for m in ('torch', 'mlflow', 'pandas') if m in sys.modules])"
    )
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout
    assert "HEAVY []" in said
    for group in choices.GROUPS:
        for name, files in choices.options(group, [ROOT / "conf", ROOT]).items():
            assert name in said
            assert choices.describe(files[0]), f"{files[0]} should open with what it is"
            assert choices.describe(files[0]) in said


def test_a_run_is_in_the_ledger_and_on_the_screen(here, capfd):
    assert call(*TINY, "seed=range(2)") == 0
    out, err = capfd.readouterr()
    assert status() == {f"{TINY_NAME} · seed 0": "FINISHED", f"{TINY_NAME} · seed 1": "FINISHED"}
    assert "data twonorm: " in err and "SHA-256" in err
    assert " ± " in out and "ddof=1" in out and "mlflow ui" in out
    assert sorted(p.name for p in here.iterdir()) == ["mlflow.db", "outputs"]
