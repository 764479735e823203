"""The same sweep through every launcher: the same R to the bit, the same table, the same duties."""

import importlib.util
import io
from contextlib import redirect_stdout

import pytest
from bombs import explode
from cli import SERIAL, at_once, call, hashes, runs, table

from sdsl.launch.worker import TRIES

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


@pytest.fixture(scope="module")
def serial(empty_store, tmp_path_factory) -> tuple[dict[str, str], str]:
    """What one process, one seed at a time, computes and prints."""
    folder = tmp_path_factory.mktemp("serial")
    (folder / "mlflow.db").write_bytes(empty_store.read_bytes())
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.delenv("MLFLOW_TRACKING_URI", raising=False)
        with redirect_stdout(io.StringIO()) as out:
            assert call(SERIAL, "fuse=false", *SWEEP) == 0
        found = hashes()
    assert len(found) == 4 and len(set(found.values())) == 4
    return found, table(out.getvalue())


@pytest.mark.parametrize("name", ["joblib", "ray"])
def test_the_same_bits(here, capfd, serial, name):
    assert call(*launcher(name), *SWEEP) == 0
    assert (hashes(), table(capfd.readouterr().out)) == serial


def test_the_same_bits_and_each_run_once_if_submitted_twice_at_once(here, serial):
    line = (*launcher("submitit_local"), *SWEEP)
    for printed in at_once(line, line):
        assert (hashes(), table(printed)) == serial
    assert {run.info.status for run in runs()} == {"FINISHED"}


@pytest.mark.parametrize("name", ["ray", "submitit_local"])
def test_jobs_that_fail_or_die_cost_no_other(here, monkeypatch, capfd, name):
    few = ("hydra.launcher.retries=1",) if name == "ray" else ()
    explode(here, monkeypatch, capfd, *launcher(name), *few)
    assert (here / "tries.txt").read_text().split().count("kill") == TRIES
