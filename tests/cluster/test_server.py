"""Eight workers on one store: a new SQLite file; a server that is killed and comes back."""

import importlib.util
import threading
import time

import pytest
from cli import SERIAL, TINY, call, hashes, looked, runs, together
from servers import Mlflow, postgres, postgres_programs

SWEEP = (
    *("-m", "method=st", "dataset=twonorm", "stream.max_segments=2", "seed=0,1", "fuse=false"),
    *("learner.pretrain.steps=1,2,3,4,5,6,7,8", "learner.pretrain.batch=8"),
)
EIGHT = "hydra.launcher.n_jobs=8"
RUNS = 16


def finished(uri: str) -> int:
    return sum(run.info.status == "FINISHED" for run in runs(uri=uri))


def test_a_database_that_is_not_there_yet(empty_folder, capfd):
    assert call(EIGHT, *SWEEP) == 0, capfd.readouterr().err
    assert len(hashes()) == RUNS == len(runs())


no_database = postgres_programs() is None or importlib.util.find_spec("psycopg2") is None
with_postgres = pytest.mark.skipif(
    no_database, reason="needs PostgreSQL (apt install postgresql) and pip install 'sdsl[cluster]'"
)


@with_postgres
def test_four_first_starts_on_an_empty_database(here):
    with postgres() as database:
        together(*((*TINY, f"seed={seed}", f"tracking.uri={database}") for seed in range(4)))
        assert len(hashes(database)) == 4 == len(runs(uri=database))
        assert len(runs("group", uri=database)) == 1


@with_postgres
def test_eight_identical_sweeps_on_an_empty_server(here):
    with postgres() as database:
        server = Mlflow(database, here).start()
        try:
            line = ("-m", SERIAL, *TINY[:3], "learner.pretrain.steps=5,6", "seed=0,1", "fuse=false")
            together(*[(*line, f"tracking.uri={server.uri}")] * 8)
            assert len(hashes(server.uri)) == 4 == len(runs(uri=server.uri))
            assert len(runs("group", uri=server.uri)) == 2
        finally:
            server.kill()


@with_postgres
def test_a_server_that_is_killed_and_comes_back(here, capfd):
    troubles = []

    def trouble():
        while not looked(lambda: finished(server.uri) >= 3):
            pass
        server.kill()
        time.sleep(2)
        server.start()
        troubles.append(finished(server.uri))

    with postgres() as database:
        server = Mlflow(database, here).start()
        try:
            gremlin = threading.Thread(target=trouble, daemon=True)
            gremlin.start()
            line = (f"tracking.uri={server.uri}", *SWEEP)
            assert call(EIGHT, *line) == 0, capfd.readouterr().err
            gremlin.join(60)
            assert troubles and troubles[0] < RUNS  # it was away while there was work to do
            over_http = hashes(server.uri)
            assert len(over_http) == RUNS
            left = {run.info.status for run in runs(uri=server.uri)}
            assert "RUNNING" not in left and "FAILED" not in left
            assert call(SERIAL, *line) == 0
            assert hashes(server.uri) == over_http  # nothing was run again
        finally:
            server.kill()
