"""One run: what it prints, what it leaves, how it ends."""

import subprocess
import sys

import pytest
import yaml
from cli import TINY, TINY_NAME, artifact, call, hashes, runs, status, stored

OWN = ("--config-dir", "lab/conf", *TINY, "labeler=bomb")


def test_a_run_is_in_the_store_and_on_the_screen(here, capfd):
    assert call(*TINY, "seed=range(2)", "+note=hi", "+tags.owner=me") == 0
    out, err = capfd.readouterr()
    assert status() == {f"{TINY_NAME} · seed {seed}": "FINISHED" for seed in range(2)}
    assert status("group") == {TINY_NAME: "FINISHED"}
    assert "data twonorm: " in err and "SHA-256" in err
    assert " ± " in out and "ddof=1" in out and "2 runs, 2 of them made now" in out
    assert "View in MLflow: run `mlflow ui` and open http" in out
    run = runs()[0]
    assert run.data.params["note"] == "hi" and run.data.tags["owner"] == "me"

    assert call(*TINY, "seed=range(2)") == 0  # all of it is in the store
    again = capfd.readouterr().out
    assert "2 runs, 0 of them made now" in again and len(runs()) == 2
    assert call(*TINY, "force=true") == 0
    assert len(runs()) == 3


def test_the_folder_of_a_run_is_as_hydra_users_know_it(here):
    assert call(*TINY, "seed=3") == 0
    (folder,) = (here / "outputs").glob("20*/*")
    words = yaml.safe_load((folder / ".hydra" / "overrides.yaml").read_text())
    assert words == [*TINY, "seed.values=[3]"]
    config = yaml.safe_load((folder / ".hydra" / "config.yaml").read_text())
    assert config["seed"] == {"values": [3]}
    assert (folder / ".hydra" / "hydra.yaml").exists()
    assert (
        "Acc_t" in (folder / "sdsl.log").read_text()
        or "acc_online" in (folder / "sdsl.log").read_text()
    )
    assert not (folder / ".jobs").exists()
    assert runs()[0].data.tags["output_dir"] == str(folder)
    assert sorted(path.name for path in here.iterdir()) == ["mlflow.db", "outputs"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["method=stt"], "Did you mean 'st'?"),
        (["+labeler.round=1"], "labeler has no setting 'round'"),
        (["seed=-1"], "seed.values=-1 should be greater"),
        (["seed=1.5"], "a seed is an integer"),
        (["dataset.segment_size=5000"], "fewer than two segments"),
        (["dataset=own/csv", "dataset.path=nowhere.csv"], "nowhere.csv"),
        (["tracking.uri=file:here"], "The MLflow store file:here"),
        (["tracking.uri=sqlite:///:memory:"], "in memory"),
        (["lr=["], "lr=["),
        (["method=st,jt"], "add --multirun"),
        (["--config-dir", "nowhere"], "not found"),
    ],
)
def test_refusals_end_with_status_2(here, capfd, words, said):
    line = [w for w in TINY if not any(w.split("=")[0] == v.split("=")[0] for v in words)]
    assert call(*words, *line) == 2
    out, err = capfd.readouterr()
    assert said in err and "Traceback" not in err and "HYDRA_FULL_ERROR" not in err
    assert out == ""
    assert runs() == [] and not list(here.glob("outputs/20*/*/.jobs"))


def test_a_component_of_ones_own(lab):
    assert call(*OWN) == 0
    (run,) = runs()
    assert run.data.params["labeler._target_"] == "lab.bomb.Bomb"
    assert run.data.tags["variant"] == "st (labeler=bomb, learner.pretrain.steps=5)"


def test_a_bug_ends_with_status_1_and_its_traceback(lab, capfd):
    assert call(*OWN, "labeler.how=raise", "seed=0,1") == 1
    err = capfd.readouterr().err
    assert "lab/bomb.py" in err and "ValueError: a bad labeler" in err
    assert {run.info.status for run in runs()} == {"FAILED"} and len(runs()) == 2
    assert "a bad labeler" in artifact(runs()[0], "traceback.txt").read_text()
    assert call(*OWN, "labeler.how=not") == 0  # the next command is not disturbed


def test_a_users_callback_runs_beside_ours(lab, here):
    callback = "+hydra.callbacks.mine._target_=lab.hooks.Mine"
    assert call(*OWN, callback) == 0
    assert float((here / "ends.txt").read_text()) == pytest.approx(
        runs()[0].data.metrics["acc_online"], abs=1e-6
    )


def test_without_our_callback_a_run_is_a_run(here, capfd):
    assert call(*TINY, "~hydra.callbacks.screen") == 0
    assert list(status().values()) == ["FINISHED"]
    assert "┏" not in capfd.readouterr().out


def test_a_checkpoint_is_continued(here, monkeypatch, capfd):
    """A run that is stopped after its fourth segment has the R of one that is not."""
    from sdsl.core import state

    line = ("method=pl_conf", "dataset=ug_2c_2d", "stream.max_segments=6", "checkpoint.seconds=0")
    line = (*line, "learner.pretrain.steps=5", "labeler.fit.steps=5", "replay.fit.steps=5")
    keep, count = state.Checkpoint.keep, []
    monkeypatch.setattr(state, "SHARE", 1e9)  # written after every segment

    def stop(self, data):
        keep(self, data)
        count.append(1)
        if len(count) == 4:
            raise KeyboardInterrupt(2)

    with monkeypatch.context() as patch:
        patch.setattr(state.Checkpoint, "keep", stop)
        assert call(*line) == 130
    assert "0 of 1 runs are done, 1 are left" in capfd.readouterr().err
    assert [run.info.status for run in runs()] == ["KILLED"]
    assert len(list((here / "outputs" / "checkpoints").iterdir())) == 1
    assert call(*line) == 0
    assert "continued at segment 4 of 6" in capfd.readouterr().err
    assert not (here / "outputs" / "checkpoints").exists()
    resumed = hashes()
    assert call(*line, "force=true", "checkpoint.seconds=null") == 0
    ended = [run for run in runs() if run.info.status == "FINISHED"]
    assert len({stored(run, "R.npy").read_bytes() for run in ended}) == 1 and len(ended) == 2
    assert len(resumed) == 1


def test_help_and_config_load_nothing_heavy():
    for flag in ("--help", "--cfg=job"):
        code = (
            f"import sys; sys.argv = ['sdsl.run', '{flag}']\n"
            "from sdsl.run import main\n"
            "try: main()\n"
            "finally: print('HEAVY', {'torch', 'mlflow', 'pandas'} & {*sys.modules},\n"
            "    len([name for name in sys.modules if name.startswith('sdsl')]))"
        )
        said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout
        assert "HEAVY set()" in said and int(said.split()[-1]) <= 50
        assert "oracle_labels" in said or "_target_" in said


def test_without_a_screen_failures_still_count(lab):
    assert call(*OWN, "labeler.how=raise", "~hydra.callbacks.screen") == 1
