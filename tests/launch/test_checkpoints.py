"""Checkpoints of the real command: killed in mid-run, the same command goes on where it was."""

import hashlib
import signal
import time

from cli import artifact, call, hashes, runs, start, status

from sdsl.launch import checkpoints

LINE = ("method=pl_conf", "dataset=ug_2c_2d", "stream.max_segments=40", "seed=0,1,2")
LINE = (*LINE, "checkpoint.seconds=0", "learner.pretrain.steps=40", "replay.fit.steps=40")


def wait_for_a_checkpoint(process) -> None:
    end = time.monotonic() + 240
    while not list(checkpoints.FOLDER.glob("*.sdsl")):
        assert process.poll() is None and time.monotonic() < end, process.communicate()
        time.sleep(0.01)


def test_killed_in_mid_run(here, capfd):
    process = start(*LINE)
    wait_for_a_checkpoint(process)
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert set(status().values()) == {"RUNNING"}
    kept = list(checkpoints.FOLDER.iterdir())
    assert len(kept) == 1
    capfd.readouterr()
    assert call(*LINE) == 0
    assert "continued at segment " in capfd.readouterr().err
    assert not checkpoints.FOLDER.exists()  # removed when FINISHED
    resumed = hashes()
    assert call(*LINE, "force=true", "checkpoint.seconds=null") == 0
    newest = {run.data.tags["run_key"]: run for run in runs()}  # the later one stays
    whole = {k: hashlib.sha256(artifact(r, "R.npy").read_bytes()) for k, r in newest.items()}
    assert resumed == {key: digest.hexdigest() for key, digest in whole.items()}
    assert len(resumed) == 3


def test_some_seeds_of_a_fused_job_are_finished(here, monkeypatch, capfd):
    """Killed while it recorded its seeds: the others are recorded from the common checkpoint."""
    from sdsl.tracking.ledger import Ledger

    log, logged = Ledger.log, []

    def once(self, *args):
        if logged:
            raise KeyboardInterrupt(signal.SIGINT)
        logged.append(log(self, *args))

    monkeypatch.setattr(Ledger, "log", once)
    assert call(*LINE) == 128 + signal.SIGINT
    monkeypatch.setattr(Ledger, "log", log)
    assert sorted(status().values()) == ["FINISHED", "KILLED", "KILLED"]
    capfd.readouterr()
    assert call(*LINE) == 0
    assert "continued at segment " in capfd.readouterr().err
    assert len(hashes()) == 3 and not checkpoints.FOLDER.exists()
