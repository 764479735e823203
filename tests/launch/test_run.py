"""One run: what it prints, what it leaves, how it ends."""

import re
import subprocess
import sys

import numba
import pytest
import yaml
from cli import TINY, TINY_NAME, call, runs, status, stored

from sdsl.core import state
from sdsl.launch.compiling import TEXT, announced

OWN = ("--config-dir", "lab/conf", *TINY, "labeler=bomb")


def test_a_run_is_in_the_store_and_on_the_screen(here, capfd):
    assert call(*TINY, "seed=range(2)", "+note=hi", "+tags.owner=me") == 0
    out, err = capfd.readouterr()
    assert status() == {f"{TINY_NAME} · seed {seed}": "FINISHED" for seed in range(2)}
    assert status("group") == {TINY_NAME: "FINISHED"}
    assert "data twonorm: " in err and "SHA-256" in err
    assert " ± " in out and "ddof=1" in out and "2 runs, 2 of them made now" in out
    assert "View in MLflow: run `mlflow ui` and open http" in out
    run = runs()[0]
    assert run.data.params["note"] == "hi" and run.data.tags["owner"] == "me"

    assert call(*TINY, "seed=range(2)") == 0  # all of it is in the store
    again = capfd.readouterr().out
    assert "2 runs, 0 of them made now" in again and len(runs()) == 2
    assert call(*TINY, "force=true") == 0
    assert len(runs()) == 3


def test_the_folder_of_a_run_is_as_hydra_users_know_it(here):
    assert call(*TINY, "seed=3") == 0
    (folder,) = (here / "outputs").glob("20*/*")
    words = yaml.safe_load((folder / ".hydra" / "overrides.yaml").read_text())
    assert words == [*TINY, "seed.values=[3]"]
    config = yaml.safe_load((folder / ".hydra" / "config.yaml").read_text())
    assert config["seed"] == {"values": [3]}
    assert (folder / ".hydra" / "hydra.yaml").exists()
    assert "acc_online" in (folder / "sdsl.log").read_text()
    assert not (folder / ".jobs").exists()
    assert runs()[0].data.tags["output_dir"] == str(folder)
    assert sorted(path.name for path in here.iterdir()) == ["mlflow.db", "outputs"]


@pytest.mark.parametrize(("words", "said"), [
    (["method=stt"], "Did you mean 'st'?"), (["seed=1.5"], "a seed is an integer"),
    (["dataset.segment_size=5000"], "fewer than two segments"),
    (["dataset=own/csv", "dataset.path=nowhere.csv"], "nowhere.csv"),
    (["tracking.uri=sqlite:///:memory:"], "in memory"), (["lr=["], "lr=["),
    (["method=st,jt"], "add --multirun"), (["--config-dir", "nowhere"], "not found"),
])  # fmt: skip
def test_refusals_end_with_status_2(here, capfd, words, said):
    line = [w for w in TINY if not any(w.split("=")[0] == v.split("=")[0] for v in words)]
    assert call(*words, *line) == 2
    out, err = capfd.readouterr()
    assert said in err and "Traceback" not in err and "HYDRA_FULL_ERROR" not in err
    assert out == ""
    assert runs() == [] and not list(here.glob("outputs/20*/*/.jobs"))


def test_a_bug_ends_with_status_1_one_sentence_and_a_traceback_in_the_run(lab, capfd):
    assert call(*OWN, "labeler.how=raise", "seed=0,1") == 1
    err = capfd.readouterr().err
    assert "Bomb raised ValueError in start (lab/bomb.py, line 20): a bad labeler" in err
    assert "Traceback" not in err
    assert {run.info.status for run in runs()} == {"FAILED"} and len(runs()) == 2
    assert "a bad labeler" in stored(runs()[0], "traceback.txt").read_text()
    assert call(*OWN, "labeler.how=not") == 0  # the next command is not disturbed


def test_files_of_ones_own_that_cannot_be_read_name_file_and_line(lab, capfd):
    (lab / "broken.py").write_text("x = 1\ndef f(:\n")
    for text, says in {
        "_target_: lab.broken.Bomb\n": "lab/broken.py, line 2: invalid syntax (labeler._target_)",
        "_target_: lab.bomb.Bomb\n\thow: not\n": "labeler/bomb.yaml, line 2: found character",
    }.items():
        (lab / "conf" / "labeler" / "bomb.yaml").write_text(text)
        assert call(*OWN) == 2
        err = capfd.readouterr().err
        assert says in err and "Traceback" not in err


def test_a_probe_that_fails_costs_no_run(lab, capfd):
    (lab / "conf" / "probe").mkdir()
    for name, returned in {"good": '{"worst": 0.125}', "bad": '"text"'}.items():
        code = f"class P(Probe):\n    def measure(self, *given):\n        return {returned}\n"
        (lab / f"{name}.py").write_text(f"from sdsl.api import Probe\n{code}")
        (lab / "conf" / "probe" / f"{name}.yaml").write_text(f"_target_: lab.{name}.P\n")
    assert call("--config-dir", "lab/conf", *TINY, "probe=bad") == 1
    out, err = capfd.readouterr()
    assert "P.measure (lab/bad.py) returned the str 'text'; it must return a dict" in err
    assert "Acc_t" in out and [run.info.status for run in runs()] == ["FINISHED"]
    assert call("--config-dir", "lab/conf", *TINY, "probe=good", "seed=0,1") == 0
    assert "worst" in (out := capfd.readouterr().out) and "0.125 ± 0" in out
    assert runs()[-1].data.metrics["probed.worst"] == 0.125


def test_a_stopped_run_goes_on_from_its_checkpoint(lab, here, monkeypatch, capfd):
    """It has the R of one that was not stopped; its checkpoint is gone."""
    monkeypatch.setattr(state, "SHARE", 1e9)  # written after every segment
    line = (*OWN, "labeler.how=stop", "replay=retrain", "stream.max_segments=6")
    assert call(*line, "checkpoint.seconds=0") == 130
    assert "0 of 1 runs are done, 1 are left" in capfd.readouterr().err
    other = here / "outputs" / "checkpoints" / "of another run"
    other.touch()
    assert call(*line) == 0
    assert "continued at segment 4 of 6" in capfd.readouterr().err
    assert list(other.parent.iterdir()) == [other]
    assert call(*line, "force=true", "checkpoint.seconds=null") == 0
    stopped, *whole = runs()
    assert [run.info.status for run in (stopped, *whole)] == ["KILLED", "FINISHED", "FINISHED"]
    assert len({stored(run, "R.npy").read_bytes() for run in whole}) == 1


def test_compiling_is_said_once_and_loading_is_not():
    loop, said = numba.njit(lambda x: x + 1), []
    with announced(said.append):
        assert loop(1) == 2 and loop(1.5) == 2.5
    assert said == [TEXT]
    with announced(said.append):
        assert loop(2) == 3
    assert said == [TEXT]


@pytest.mark.parametrize(("flag", "said"), [("--help", "oracle_labels"), ("--cfg=job", "_target_")])
def test_help_and_config_load_nothing_heavy(flag, said):
    line = [sys.executable, "-X", "importtime", "-m", "sdsl.run", flag]
    done = subprocess.run(line, capture_output=True, text=True)
    assert said in done.stdout and " hydra\n" in done.stderr
    assert not re.search(r" (torch|mlflow|pandas)$", done.stderr, flags=re.M)
