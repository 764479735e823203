"""The same sweep through every launcher: the same bits of R, a bar, a table; kills and Ctrl-C."""

import os
import signal

import pytest
from cli import PATIENCE, SERIAL, TINY, at_once, call, hashes, runs, start, table, wait_for

pytestmark = pytest.mark.slow
SWEEP = ("method=st,jt", "dataset=satimage", "seed=0,1", "stream.max_segments=3")
SWEEP = (*SWEEP, "learner.pretrain.steps=5", "replay=retrain")
LAUNCHERS = {"local": "joblib", "basic": "joblib", "submitit_local": "submitit", "ray": "ray"}
LAUNCHERS |= {"joblib": "hydra_plugins.hydra_joblib_launcher"}


@pytest.fixture(scope="module")
def serial(empty_store, tmp_path_factory) -> tuple[dict[str, str], str]:
    """Hashes of R and the table, one job after the other."""
    folder = tmp_path_factory.mktemp("serial")
    (folder / "mlflow.db").write_bytes(empty_store.read_bytes())
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.delenv("MLFLOW_TRACKING_URI", raising=False)
        (said,) = at_once(("-m", SERIAL, *SWEEP))
        found = hashes()
    assert len(found) == 4 and len(set(found.values())) == 4
    return found, table(said)


@pytest.mark.parametrize("name", LAUNCHERS)
def test_the_same_bits_bar_and_table(here, serial, name):
    pytest.importorskip(LAUNCHERS[name], reason="needs pip install -e '.[cluster]'")
    command = start("-m", f"hydra/launcher={name}", *SWEEP)
    out, err = command.communicate(timeout=PATIENCE)
    assert command.returncode == 0, err
    assert (hashes(), table(out)) == serial
    assert "2 of 2 jobs" in err


def test_the_same_sweep_twice_at_once_makes_each_run_once(here, serial):
    for printed in at_once(("-m", *SWEEP), ("-m", *SWEEP)):
        assert table(printed) == serial[1]
    assert hashes() == serial[0]
    assert {run.info.status for run in runs()} == {"FINISHED"}


def test_a_killed_worker_costs_no_other_job(lab, here, capfd):
    """One labeler is killed, one is killed once, one raises."""
    line = ("--config-dir", "lab/conf", "-m", *TINY, "hydra.launcher.n_jobs=2")
    assert call(*line, "labeler=bomb", "labeler.how=kill,once,raise,not") == 1
    out, err = capfd.readouterr()
    assert "labeler.how=once" in table(out) and "labeler.how=not" in table(out)
    causes = {part.split("labeler.how=")[1].split()[0]: part for part in err.split("FAILED ")[1:]}
    assert set(causes) == {"kill", "raise"}
    assert "killed 2 times" in causes["kill"] and "ValueError in start" in causes["raise"]
    tries = (here / "tries.txt").read_text().split()
    assert (tries.count("kill"), tries.count("once"), tries.count("raise")) == (2, 2, 1)
    ended = sorted(run.info.status for run in runs())
    assert ended.count("FINISHED") == 2 and "RUNNING" not in ended


LONG = ("-m", "method=pl_conf", "dataset=ug_2c_2d,mg_2c_2d", "seed=range(3)")
LONG = (*LONG, "stream.max_segments=20")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_a_stopped_sweep_leaves_no_worker_and_is_continued(here, number):
    command = start(*LONG)
    wait_for(hashes, command)
    if number == signal.SIGINT:
        os.killpg(command.pid, number)  # as a terminal sends Ctrl-C
    else:
        command.send_signal(number)
    _, err = command.communicate(timeout=PATIENCE)  # its workers hold these pipes, too
    done = hashes()
    if number == signal.SIGKILL:
        assert command.returncode == -number
    else:
        assert command.returncode == 128 + number
        assert f"{len(done)} of 6 runs are done, {6 - len(done)} are left" in err
    (said,) = at_once(LONG)
    assert f"6 runs, {6 - len(done)} of them made now" in said
    assert done.items() <= hashes().items() and len(hashes()) == 6
    assert "RUNNING" not in {run.info.status for run in runs()}
