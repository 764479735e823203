"""Configs that come to the same: the second takes the first one's result over and says so."""

import numpy as np
import pytest
from cli import artifact, call, client, runs
from omegaconf import OmegaConf

from sdsl import experiment
from sdsl.config.compose import composed
from sdsl.core import engine
from sdsl.tracking import identity

BRIEF = ("stream.max_segments=2", "learner.pretrain.steps=5", "replay.steps=5")
BRIEF = *BRIEF, "labeler.fit.steps=5"
TWO = ("dataset=twonorm", *BRIEF)  # classes: the paper's ILS is empty


def of(method: str) -> list:
    return [run for run in runs() if run.data.tags["method"] == method]


def history(run, name: str) -> list[tuple[int, float]]:
    found = client().get_metric_history(run.info.run_id, name)
    return sorted((point.step, point.value) for point in found)


def test_without_ils_two_classes_come_to_the_same_as_ours(here, monkeypatch, capsys):
    assert call("method=ours", *TWO, "seed=0,1", "-m") == 0
    train = engine.run
    monkeypatch.setattr(engine, "run", lambda *args: pytest.fail("trained again"))
    assert call("method=ours_wo_ils", *TWO, "seed.values=[0,1]") == 0
    assert "seed 1: comes to the same as ours" in capsys.readouterr().err
    for mine, theirs in zip(of("ours_wo_ils"), of("ours"), strict=True):
        assert mine.info.status == "FINISHED"
        assert mine.data.tags["same_as"] == theirs.info.run_id
        assert mine.data.tags["same_as_variant"] == theirs.data.tags["variant"]
        assert mine.data.metrics == theirs.data.metrics
        assert history(mine, "online") == history(theirs, "online") != []
        same = ("R.npy", "R.csv", "curves.csv", "confusion.npy", "confusion.csv")
        for name in same:
            assert artifact(mine, name).read_bytes() == artifact(theirs, name).read_bytes()
        assert artifact(mine, "R.png").read_bytes() != artifact(theirs, "R.png").read_bytes()
        config = OmegaConf.load(artifact(mine, "config.yaml"))
        assert config.method.name == "ours_wo_ils" and config.labeler.ils == "off"
        assert mine.data.params["labeler.ils"] == "off"
    # What was taken over counts like any other run, and force trains it: the bits are the same.
    assert call("method=ours_wo_ils", *TWO, "seed.values=[0,1]") == 0
    assert len(of("ours_wo_ils")) == 2
    monkeypatch.setattr(engine, "run", train)
    assert call("method=ours_wo_ils", *TWO, "seed.values=[0]", "force=true") == 0
    trained = next(run for run in of("ours_wo_ils") if "same_as" not in run.data.tags)
    original = next(run for run in of("ours") if run.data.tags["seed"] == "0")
    assert trained.data.tags["R_sha256"] == original.data.tags["R_sha256"]
    assert np.array_equal(np.load(artifact(trained, "R.npy")), np.load(artifact(original, "R.npy")))


def result_key(*words: str) -> str:
    setup = experiment.setup(composed(*words))
    return identity.describe(setup, experiment.load(setup)).result_key


def test_only_what_has_no_effect_is_left_out():
    two, three = "dataset=twonorm", "dataset=satimage"
    assert result_key("method=ours", two) == result_key("method=ours_wo_ils", two)
    assert result_key("method=ours", three) != result_key("method=ours_wo_ils", three)
    gram = result_key("method=ours", two, "labeler.ils=gram")
    assert gram != result_key("method=ours_wo_ils", two)
    assert result_key("method=ours", two, "method.name=mine") == result_key("method=ours", two)
    for word in ("labeler.rounds=2", "replay.steps=3", "eval.every=3", "stream.max_segments=3"):
        assert result_key("method=ours", two, word) != result_key("method=ours", two)
