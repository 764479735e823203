"""python -m sdsl.verify: the same bits, or what differs."""

import numpy as np
import pytest
from cli import TINY, call, runs
from mlflow import MlflowClient

from sdsl.errors import UserError
from sdsl.tracking.client import store_uri
from sdsl.verify import main, verify


def test_a_logged_run_is_rerun_and_compared(here, monkeypatch, capsys):
    assert call(*TINY, "seed=0,5") == 0
    run = runs()[1]
    run_id = run.info.run_id
    verdict = verify(run_id)
    assert (verdict.name, verdict.same, verdict.cells) == ("st · twonorm · seed 5", True, 0)
    assert verdict.differences == []

    file = here / "outputs" / "mlruns" / run_id / "artifacts" / "R.npy"
    R = np.load(file)
    R[1, 0] = np.nextafter(R[1, 0], 2)  # one bit
    np.save(file, R)
    client = MlflowClient(store_uri(None))
    client.set_tag(run_id, "torch", "1.0.0")
    client.set_tag(run_id, "stream_sha256", "0" * 64)
    verdict = verify(run_id)
    assert not verdict.same and verdict.cells == 1
    assert [line.split(":")[0] for line in verdict.differences] == ["stream_sha256", "torch"]

    monkeypatch.setattr("sys.argv", ["sdsl.verify", run_id])
    with pytest.raises(SystemExit) as stop:
        main()
    assert stop.value.code == 1
    out = capsys.readouterr().out
    assert "R differs in 1 cells" in out and "torch: was 1.0.0, is" in out


def test_what_is_no_run_is_refused(here):
    assert call(*TINY) == 0
    for run_id in ("../../etc/passwd", "0" * 32, runs("group")[0].info.run_id):
        with pytest.raises(UserError):
            verify(run_id)
