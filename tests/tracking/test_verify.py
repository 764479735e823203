"""verify: the same bits, or the differences; exports of an older form are composed anew."""

import numpy as np
import pytest
from made import ledger
from support import ROOT, blobs, composed

from sdsl import experiment, verify
from sdsl.config import setup
from sdsl.report import export
from sdsl.tracking.identity import describe

CONFIG = composed("method=jt", "replay.fit.steps=5", "learner.pretrain.steps=5")


@pytest.fixture
def run(here, monkeypatch):
    """A recorded run of a made-up stream."""
    table = blobs(drift=1.0)
    monkeypatch.setattr(experiment, "load", lambda setup: table)
    made = setup(CONFIG)
    books, group = ledger(), describe(made, table)
    with books.recording(group, 3) as run_id:
        books.log(run_id, group, 3, experiment.run(made, 3, table))
    return run_id


def test_a_run_is_verified_bit_for_bit(run, here, capsys, monkeypatch):
    assert verify.main([run]) == 0
    out = capsys.readouterr().out
    assert "jt" in out and "R is the same, bit for bit." in out and run in out
    assert "none that is recorded" in out
    file = here / "outputs" / "mlruns" / run / "artifacts" / "R.npy"
    R = np.load(file)
    R[1, 2] = np.nextafter(R[1, 2], 0)
    np.save(file, R)
    ledger().client.set_tag(run, "torch", "1.0")
    other = blobs(drift=1.0, seed=1)
    assert verify.main([run]) == 1
    out = capsys.readouterr().out
    assert "R differs in 1 cells" in out and "torch: was 1.0, is 2" in out
    monkeypatch.setattr(experiment, "load", lambda setup: other)
    assert verify.main([run]) == 1
    out = capsys.readouterr().out
    assert "stream_sha256: was" in out and "run_key: was" in out and "acc_final: was" in out


def test_a_refusal_is_one_sentence(run, capsys):
    parent = ledger().client.get_run(run).data.tags["mlflow.parentRunId"]
    for words in (["0" * 32], ["no id"], ["--sample", "2", "nowhere"], [parent]):
        assert verify.main(words) == 2
        assert "Traceback" not in (err := capsys.readouterr().err) and words[-1] in err


def test_a_sample_counts_what_is_the_same_and_says_what_is_fragile(run, capsys, monkeypatch):
    R = experiment.run(setup(CONFIG), 3).outcome.R[1:]
    other = R + 0.1
    R[0, 1] = np.nan  # not evaluated
    made = [(R, np.nan), (other, 0.2), (other, 0.01), (other, np.nan), (R[:2], 0.0)]
    exported = [export.Exported("name", CONFIG, 3, one, "0" * 64, moved) for one, moved in made]
    monkeypatch.setattr(export, "sample", lambda *args: iter(exported))
    assert verify.main(["--sample", "5", str(ROOT)]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "name: R is the same, bit for bit"
    assert "Acc_t by 0.1000; as fragile marked: jitter moves a seed by 0.200" in lines[1]
    assert "not marked" in lines[2] and "not measured" in lines[3] and "another shape" in lines[4]
    assert lines[-1] == "1 of 5 are the same, bit for bit."
