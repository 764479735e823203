"""The same sweep through every launcher: the same R to the bit, the same table, the same duties."""

import hashlib
import importlib.util
from pathlib import Path

import pytest
from cli import SERIAL, call, runs
from omegaconf import OmegaConf

from sdsl import clusters
from sdsl.launcher import Job
from sdsl.tracking import Ledger

SWEEP = (
    *("-m", "method=st,jt", "dataset=satimage", "seed=0,1", "stream.max_segments=3"),
    *("learner.pretrain.steps=5", "replay=retrain"),
)
NEEDS = {"joblib": "joblib", "ray": "ray", "submitit_local": "submitit"}


def launcher(name: str) -> tuple[str, ...]:
    """The words that choose it; skipped where sdsl[cluster] is not installed."""
    if importlib.util.find_spec(NEEDS[name]) is None:
        pytest.skip(f"needs {NEEDS[name]}: pip install 'sdsl[cluster]'")
    return (f"hydra/launcher={name}",)


def hashes(uri: str | None = None) -> dict[str, str]:
    """run_key -> SHA-256 of the artifact R.npy, of what is FINISHED; none there twice."""
    from mlflow import MlflowClient

    from sdsl.store import store_uri

    client, found = MlflowClient(store_uri(uri)), {}
    for run in runs(uri=uri):
        if run.info.status == "FINISHED":
            key = run.data.tags["run_key"]
            assert key not in found, "done twice"
            file = Path(client.download_artifacts(run.info.run_id, "R.npy"))
            found[key] = hashlib.sha256(file.read_bytes()).hexdigest()
    return found


@pytest.fixture(scope="module")
def serial(empty_store, tmp_path_factory) -> dict[str, str]:
    """What one process, one seed at a time, computes."""
    folder = tmp_path_factory.mktemp("serial")
    (folder / "mlflow.db").write_bytes(empty_store.read_bytes())
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.delenv("MLFLOW_TRACKING_URI", raising=False)
        assert call(SERIAL, "fuse=false", *SWEEP) == 0
        found = hashes()
    assert len(found) == 4 and len(set(found.values())) == 4
    return found


@pytest.mark.parametrize("name", NEEDS)
def test_the_same_bits(here, capfd, serial, name):
    chosen = launcher(name)
    assert call(*chosen, *SWEEP) == 0
    assert hashes() == serial
    table = capfd.readouterr().out
    assert "satimage" in table
    assert call(*chosen, *SWEEP) == 0  # resumes: nothing is run again
    assert capfd.readouterr().out == table
    assert len(runs()) == 4


BOMB = """
import os, signal
from dataclasses import dataclass
from sdsl.labelers.none import NoLabels

@dataclass
class Bomb(NoLabels):
    def start(self, gold, learner, draws):
        os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.parametrize("name", ["ray", "submitit_local"])
def test_a_job_that_dies_costs_no_other(here, monkeypatch, capfd, name):
    chosen = launcher(name)
    (here / "far_bombs").mkdir()
    (here / "far_bombs" / "bomb.py").write_text(BOMB)
    (here / "mine" / "labeler").mkdir(parents=True)
    (here / "mine" / "labeler" / "die.yaml").write_text("name: far_bombs.bomb\n")
    monkeypatch.setenv("PYTHONPATH", str(here), prepend=":")
    monkeypatch.syspath_prepend(str(here))
    line = ("--config-dir", "mine", *chosen, *SWEEP, "labeler=die,none", "method=st")
    line = [word for word in line if word != "method=st,jt"]
    line += ["hydra.launcher.retries=1"] if name == "ray" else []
    assert call(*line) == 1
    out, err = capfd.readouterr()
    assert "labeler=die" in err.partition("FAILED")[2] and "Traceback" not in err
    assert out.count("satimage") == 1
    assert {run.info.status for run in runs()} == {"FINISHED", "KILLED"}


def test_the_runs_of_a_lost_machine_do_not_run_for_ever(here, monkeypatch):
    monkeypatch.setenv("SDSL_SWEEP", "mine")
    ledger = Ledger(None, "sdsl")
    gone = {"host": "elsewhere", "pid": "1", "process_start": "x", "kind": "run"}
    ids = [
        ledger.client.create_run(ledger.experiment, tags={**gone, "sweep": sweep}).info.run_id
        for sweep in ("mine", "another's")
    ]
    place = OmegaConf.create({"tracking": {"uri": ledger.uri, "experiment": "sdsl"}})
    clusters.close([Job(0, "", place, 1, 1.0)])
    assert [ledger.client.get_run(i).info.status for i in ids] == ["KILLED", "RUNNING"]
