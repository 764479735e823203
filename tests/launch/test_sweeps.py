"""Sweeps that survive: killed workers, a killed parent, signals; the same bits however they ran."""

import os
import signal
import time
from contextlib import suppress

import numpy as np
import pytest
from bombs import explode
from cli import SERIAL, artifact, call, checked_only, runs, start, status, table, wait_for

from sdsl import experiment
from sdsl.config.compose import composed
from sdsl.launch.launcher import guess, segments
from sdsl.launch.worker import TRIES
from sdsl.tracking.process import process_start

SWEEP = (
    "-m",
    "method=st,jt",
    "dataset=twonorm,satimage",
    "seed=0,1",
    "stream.max_segments=4",
    "replay=retrain",  # some steps of training, so that a kill finds work under way
)


def running() -> list:
    return [run for run in runs() if run.info.status == "RUNNING"]


def finished() -> dict[str, bytes]:
    """run name -> R, of everything that is FINISHED; a name that stands twice was done twice."""
    found = [run for run in runs() if run.info.status == "FINISHED"]
    names = [run.info.run_name for run in found]
    assert len(set(names)) == len(names), names
    return {run.info.run_name: np.load(artifact(run, "R.npy")).tobytes() for run in found}


def test_a_killed_sweep_goes_on_where_it_was(here, empty_store, tmp_path_factory, capfd):
    rng = np.random.default_rng(0)
    for enough in (0, 2, 4):  # runs finished when the parent is killed
        sweep = start(*SWEEP)
        wait_for(running, sweep)
        time.sleep(rng.uniform(0, 0.5))
        for run in running()[:1]:  # first a worker, in the middle of a job
            with suppress(ProcessLookupError):
                os.kill(int(run.data.tags["pid"]), signal.SIGKILL)
        wait_for(lambda n=enough: len(finished()) >= n, sweep)
        sweep.kill()
        sweep.communicate()

    sweep = start(*SWEEP)
    printed = sweep.communicate()[0]
    assert sweep.returncode == 0
    assert len(finished()) == 8
    assert "RUNNING" not in {run.info.status for run in runs()}
    survived = finished()

    other = tmp_path_factory.mktemp("undisturbed")
    (other / "mlflow.db").write_bytes(empty_store.read_bytes())
    os.chdir(other)  # `here` goes back by itself
    capfd.readouterr()
    assert call(SERIAL, "fuse=false", *SWEEP) == 0  # in one process, one seed at a time
    assert table(capfd.readouterr().out) == table(printed)
    assert finished() == survived


def test_jobs_that_fail_or_die_cost_no_other(here, monkeypatch, capfd):
    causes = explode(here, monkeypatch, capfd, "hydra.launcher.n_jobs=2")
    assert causes["kill"] == f"  its process was killed {TRIES} times; out of memory?"
    tries = (here / "tries.txt").read_text().split()
    assert sorted(tries) == ["kill"] * TRIES + ["memory", "raise"]


@pytest.mark.parametrize("words", [(), ("-m", "dataset=twonorm,ug_2c_2d")], ids=["run", "sweep"])
@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGINT])
@pytest.mark.parametrize("times", [1, 2], ids=["once", "twice"])
def test_a_signal_marks_what_runs_as_killed(here, words, how, times):
    run = start(*words, "method=jt", "replay.fit.steps=100000")
    wait_for(running, run)
    workers = [int(r.data.tags["pid"]) for r in running()]
    for _ in range(times):
        if how == signal.SIGINT:
            os.killpg(run.pid, how)  # what Ctrl-C in a terminal does
        else:
            run.send_signal(how)
        time.sleep(0.2)
    _, err = run.communicate(timeout=5)
    assert run.returncode == 128 + how
    assert set(status().values()) == {"KILLED"}
    assert "The same command goes on from here." in err and "Traceback" not in err
    assert not any(process_start(pid) for pid in workers)


def test_long_jobs_come_first(here, monkeypatch):
    def of(*overrides: str) -> float:
        made = experiment.setup(composed("method=st", *overrides))
        return guess(made, segments(made))

    (here / "x").touch()
    own = of("dataset=own/csv", "dataset.path=x")
    assert of("stream.max_segments=3") < of() < own

    setups = checked_only(monkeypatch)
    assert call("-m", SERIAL, "method=st", "stream.max_segments=3,9,5") == 0
    assert [setup.stream.max_segments for setup in setups] == [9, 5, 3]
