"""verify: the same bits, or the differences; exports of an older form are composed anew."""

import numpy as np
import pytest
from made import ledger
from support import ROOT, blobs, composed

from sdsl import experiment, verify
from sdsl.config import composed as compose
from sdsl.config import setup
from sdsl.errors import UserError
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


def old_form(**labeler) -> dict:
    """method=ours on spam as the first exports have it."""
    config = compose("method=ours", "dataset=spam", "lookback.size=7")
    for part in ("labeler", "replay"):
        config[part]["name"] = config[part].pop("_target_").rpartition(".")[2].lower()
    config["probe"] = {"name": "flatness", "rows": 9}
    config["eval"] |= {"context": False, "columns": "auto"}
    config["labeler"] |= labeler
    return config


def test_an_export_of_the_old_form_is_composed_anew():
    new = verify.current(old_form(rounds=3))
    assert new["lookback"]["size"] == 7 and new["labeler"]["rounds"] == 3
    assert new["labeler"]["_target_"].endswith("Robust") and new["probe"]["rows"] == 9
    assert setup(new).name == "ours"
    assert verify.current(CONFIG) == CONFIG | {"data": compose()["data"]}
    with pytest.raises(UserError, match=r"labeler.gone no longer exists"):
        verify.current(old_form(gone=1))
    for section in ("method", "dataset"):
        with pytest.raises(UserError, match="gone"):
            verify.current(old_form() | {section: {"name": "gone"}})


def test_a_sample_counts_what_is_the_same_and_what_is_left_out(run, capsys, monkeypatch):
    R = experiment.run(setup(CONFIG), 3).outcome.R[1:]
    R[0, 0] = np.nan  # not evaluated
    other = R + 0.1
    made = [(CONFIG, R), (CONFIG, other), (old_form(gone=1), R), (CONFIG, R[:2])]
    exported = [export.Exported("name", c, 3, matrix, "0" * 64) for c, matrix in made]
    monkeypatch.setattr(export, "sample", lambda *args: iter(exported))
    assert verify.main(["--sample", "4", str(ROOT)]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "name: R is the same, bit for bit" and "R differs in" in lines[1]
    assert "left out" in lines[2] and "another shape" in lines[3]
    assert lines[-1] == "1 of 3 are the same, bit for bit; 1 left out."
