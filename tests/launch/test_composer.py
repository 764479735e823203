"""Jobs of a sweep are composed once per choice; each config is the one Hydra would compose."""

import pytest
from hydra import initialize_config_dir
from hydra.core.global_hydra import GlobalHydra
from hydra.errors import HydraException
from hydra.types import RunMode
from omegaconf import DictConfig, OmegaConf

from sdsl.config.home import home
from sdsl.launch.composer import Composer


@pytest.fixture
def compose(monkeypatch):
    monkeypatch.setenv("SDSL_HOME", str(home()))
    with initialize_config_dir(str(home() / "conf"), version_base="1.3"):
        hydra = GlobalHydra.instance().hydra
        assert hydra is not None
        master = hydra.compose_config(
            "config", [], run_mode=RunMode.MULTIRUN, with_log_configuration=False
        )
        yield Composer(hydra.config_loader, master)


def everything(config: DictConfig) -> str:
    return OmegaConf.to_yaml(config)


@pytest.mark.parametrize(
    "words",
    [
        ("method=ours", "dataset=spam", "replay.steps=7"),
        ("replay.steps=7", "method=ours_wo_ils", "labeler.fit.steps=3"),
        ("labeler.fit={steps: 3, batch: 8}", "seed=paper"),
        ("seed.values=[1,2]", "fuse=false"),
        ("stream.max_segments=3", "hydra.job.chdir=false", "method=st"),
        ("+dataset.extra=1", "eval.every=5"),
        ("training@learner.pretrain=default", "learner.hidden=[7]"),
        ("learner.hidden=[7]", "learner.hidden=[8]"),
        ("tracking.uri=sqlite:///a b.db",),
        ("method=st",),
        (),
    ],
)
def test_the_config_is_the_one_that_hydra_composes(compose, words):
    for _ in range(2):  # the second time from what was composed
        assert everything(compose(words)) == everything(compose._whole(words))


def test_what_is_chosen_is_composed_once_and_jobs_share_nothing(compose, monkeypatch):
    calls, whole = [], compose._whole
    monkeypatch.setattr(compose, "_whole", lambda words: calls.append(words) or whole(words))
    words = [(f"replay.steps={k}", "method=ours", f"seed.values=[{k}]") for k in range(4)]
    configs = [compose(one) for one in words]
    assert calls == [("method=ours",)]
    assert [one.replay.steps for one in configs] == [0, 1, 2, 3]
    assert [one.seed["values"] for one in configs] == [[0], [1], [2], [3]]


@pytest.mark.parametrize("word", ["replay.stepz=3", "nothing=1", "replay.steps=[", "dataset=no"])
def test_a_refusal_is_that_of_hydra(compose, word):
    with pytest.raises(HydraException) as whole:
        compose._whole([word, "method=ours"])
    with pytest.raises(HydraException) as found:
        compose([word, "method=ours"])
    assert str(found.value) == str(whole.value)
