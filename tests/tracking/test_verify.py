"""python -m sdsl.verify: the same bits and nothing false, or what differs."""

import shutil

import numpy as np
import pytest
from cli import TINY, TINY_NAME, call, client, runs, stored
from mlflow.entities import Metric, RunTag

from sdsl.errors import UserError
from sdsl.verify import main, verify


@pytest.fixture
def run(here):
    """A finished run, with another one beside it."""
    assert call(*TINY, "seed=0,5") == 0
    return runs()[1]


def names(lines: list[str]) -> list[str]:
    return [line.split(":")[0] for line in lines]


def test_a_logged_run_is_rerun_and_compared(run, capsys):
    run_id = run.info.run_id
    verdict = verify(run_id)
    assert (verdict.name, verdict.same, verdict.cells) == (f"{TINY_NAME} · seed 5", True, 0)
    assert verdict.differences == verdict.false_statements == []
    assert main([run_id]) == 0
    out = capsys.readouterr().out
    assert "R is the same, bit for bit." in out
    assert out.splitlines()[-1].startswith("Look at them: mlflow ui, then open http://127.0.0.1")
    assert run_id in out.splitlines()[-1]

    file = stored(run, "R.npy")
    R = np.load(file)
    R[1, 0] = np.nextafter(R[1, 0], 2)  # one bit
    np.save(file, R)
    client().set_tag(run_id, "torch", "1.0.0")
    client().set_tag(run_id, "stream_sha256", "0" * 64)
    verdict = verify(run_id)
    assert not verdict.same and verdict.cells == 1
    assert names(verdict.differences) == ["stream_sha256", "torch"]
    assert names(verdict.false_statements) == ["R_sha256", "run_key"]

    assert main([run_id]) == 1
    out = capsys.readouterr().out
    assert "R differs in 1 cells" in out and "torch: was 1.0.0, is" in out


def test_a_copied_config_is_noticed(run):
    """The other seed's config and R, even with tags that fit the files."""
    for name in ("config.yaml", "R.npy"):
        shutil.copy(stored(runs()[0], name), stored(run, name))
    verdict = verify(run.info.run_id)
    assert verdict.cells == 0 and not verdict.same  # the copied config gives the copied R
    found = names(verdict.false_statements)
    assert found[:3] == ["R_sha256", "config_sha256", "run_key"] and "acc_online" in found
    for name in ("R_sha256", "config_sha256"):
        client().set_tag(run.info.run_id, name, runs()[0].data.tags[name])
    found = names(verify(run.info.run_id).false_statements)
    assert found[0] == "run_key" and "acc_online" in found


@pytest.mark.parametrize("name", ["acc_online", "swap_steps", "online"])
def test_an_edited_metric_is_noticed(run, capsys, name):
    later = Metric(name, 0.99, 2**41, 10)
    client().log_batch(run.info.run_id, metrics=[later], tags=[RunTag("note", "edited")])
    verdict = verify(run.info.run_id)
    assert verdict.cells == 0 and not verdict.same
    assert names(verdict.false_statements) == [name]
    assert main([run.info.run_id]) == 1
    assert f"{name}: the run says 0.99" in capsys.readouterr().out


def test_what_is_no_run_is_refused(run, capsys):
    for run_id in ("../../etc/passwd", "0" * 32, runs("group")[0].info.run_id):
        with pytest.raises(UserError):
            verify(run_id)
    stored(run, "R.npy").write_bytes(b"")
    assert main([run.info.run_id]) == 2
    assert "cannot be read" in capsys.readouterr().err


def test_a_store_elsewhere(run, monkeypatch, tmp_path, capsys):
    line = [run.info.run_id, "--uri", f"sqlite:///{stored(run, 'R.npy').parents[4] / 'mlflow.db'}"]
    monkeypatch.chdir(tmp_path)
    assert main(line) == 0
    assert "R is the same, bit for bit." in capsys.readouterr().out
