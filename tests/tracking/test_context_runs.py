"""R_context as part of a run: recorded, checked by its SHA-256, verified, in a table of its own."""

import hashlib
import re

import numpy as np
import pytest
from cli import TINY, artifact, call, client, runs, stored

from sdsl.verify import main, verify

TRACKER = ("method=tracker", *TINY[1:], "eval.context=true")


@pytest.fixture
def run(here):
    assert call(*TRACKER, "seed=0") == 0
    return runs()[0]


def test_it_is_recorded_beside_R(here):
    assert call(*TRACKER, "seed=0,1") == 0
    for run in runs():
        R_context = np.load(artifact(run, "R_context.npy"), allow_pickle=False)
        assert R_context.shape == np.load(artifact(run, "R.npy")).shape == (2, 2)
        assert run.data.metrics["acc_online_context"] == np.diagonal(R_context).mean()
        assert run.data.metrics["acc_final_context"] == R_context[-1].mean()
        digest = hashlib.sha256(artifact(run, "R_context.npy").read_bytes()).hexdigest()
        assert run.data.tags["R_context_sha256"] == digest
    (group,) = runs("group")
    both = [run.data.metrics["acc_final_context"] for run in runs()]
    assert group.data.metrics["acc_final_context"] == pytest.approx(np.mean(both))
    assert group.data.metrics["acc_final_context_std"] == pytest.approx(np.std(both, ddof=1))


def test_the_screen_has_a_table_of_its_own_for_it(here, capfd):
    assert call(*TRACKER) == 0
    paper, context = capfd.readouterr().out.split("In %.", 1)
    assert "Acc_T" in paper and "in context" not in paper
    number = 100 * runs()[0].data.metrics["acc_final_context"]
    assert "Acc_t in context" in context and re.search(rf"tracker .*{number:.2f}", context)


@pytest.mark.parametrize("words", [TRACKER[:-1], (*TINY, "eval.context=true")])
def test_a_run_that_was_not_asked_or_cannot_has_none(here, capfd, words):
    assert call(*words) == 0
    (run,) = runs()
    assert "R_context_sha256" not in run.data.tags and not stored(run, "R_context.npy").exists()
    assert "acc_final_context" not in run.data.metrics
    assert "in context" not in capfd.readouterr().out


@pytest.mark.parametrize("damage", [None, b"something else"])
def test_a_run_whose_R_context_is_not_whole_is_done_again(run, damage):
    file = stored(run, "R_context.npy")
    file.unlink() if damage is None else file.write_bytes(damage)
    assert call(*TRACKER, "seed=0") == 0
    assert len(runs()) == 2
    assert call(*TRACKER, "seed=0") == 0  # the new run counts
    assert len(runs()) == 2


def test_a_changed_cell_is_noticed(run, capsys):
    run_id = run.info.run_id
    assert verify(run_id).same
    file = stored(run, "R_context.npy")
    R_context = np.load(file)
    R_context[1, 0] = np.nextafter(R_context[1, 0], 2)
    np.save(file, R_context)
    assert main([run_id]) == 1
    assert "R_context_sha256: the run says" in capsys.readouterr().out
    client().set_tag(run_id, "R_context_sha256", hashlib.sha256(file.read_bytes()).hexdigest())
    verdict = verify(run_id)
    assert verdict.cells == 1 and verdict.false_statements == []
