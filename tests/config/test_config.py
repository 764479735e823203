"""Configs: every file of conf/ is taken, every mistake is refused in a sentence."""

from dataclasses import MISSING, fields

import pytest
from hydra.utils import get_class
from support import ROOT, options

from sdsl.config import composed, names, parts, sections, setup
from sdsl.config.refusals import REFUSED, message
from sdsl.errors import UserError

CONF = ROOT / "conf"


@pytest.mark.parametrize("group", ["method", "labeler", "replay", "probe", "seed"])
def test_every_file_of_conf_makes_what_it_names(group):
    for name in options(group):
        assert (CONF / group / f"{name}.yaml").read_text().startswith("#"), "the first line says it"
        config = composed(f"{group}={name}", *(["stream.scaler=none"] if group != "method" else []))
        made = setup(config, [f"{group}={name}"])
        if group == "method":
            assert made.name == name
            assert repr(parts(config).method.labeler) == repr(made.method.labeler)


@pytest.mark.parametrize("name", options("dataset"))
def test_every_dataset_is_composed(name):
    path = ["dataset.path=x.csv"] if name.startswith("own/csv") else []
    assert composed(f"dataset={name}", *path)["dataset"]["name"]


def test_yaml_is_the_only_home_of_a_value():
    config = composed()
    assert [field.name for field in fields(sections.Config)] == list(config)
    classes = [get_class(config[group]["_target_"]) for group in ("labeler", "replay", "probe")]
    classes += [type(setup(config).method.lookback), type(setup(config).stream)]
    classes += [sections.DataConfig, sections.TrackingConfig, sections.LearnerConfig]
    for cls in classes:
        for field in fields(cls):
            assert field.default is MISSING and field.default_factory is MISSING, (cls, field.name)


def test_the_command_line_wins_over_the_method():
    made = setup(composed("method=jt", "labeler=none", "lookback.size=7"))
    assert type(made.method.labeler).__name__ == "NoLabels"
    assert type(made.method.replay).__name__ == "Joint" and made.method.lookback.size == 7


@pytest.mark.parametrize(("words", "said"), [
    (["method=our"], "Did you mean 'ours'?"), (["metod=st"], "Did you mean 'method'?"),
    (["seed=papr"], "Did you mean 'paper'?"), (["learner.pretain.lr=1"], "mean 'pretrain'?"),
    (["+labeler.roundz=3"], "labeler has no setting 'roundz'. Did you mean 'rounds'? Choices:"),
    (["+labler.rounds=3"], "The config has no section 'labler'. Did you mean 'labeler'?"),
    (["labeler.rounds=-1"], "labeler.rounds=-1 should be greater than or equal to 1."),
    (["labeler.rounds=2.5"], "labeler.rounds=2.5 should be a valid integer."),
    (["labeler.ils=gramm"], "labeler.ils='gramm' should be 'project', 'gram' or 'off'."),
    (["learner.pretrain.lr=inf"], "learner.pretrain.lr=inf should be a finite number."),
    (["stream.gold=foo"], "stream.gold='foo' should be 'record' or 'segment'"),
    (["stream.max_segments=0"], "max_segments=0 should be"), (["eval.every=0"], "eval.every=0"),
    (["dataset.segment_size=???"], "dataset.segment_size has no value: set"),
    (["dataset=own/csv"], "path has no value"), (["seed.values=[-1]"], "values=-1 should be"),
    (["seed.values=[1,1]"], "each seed once"), (["seed.values=[]"], "seed.values=[]"),
    (["force=perhaps"], "not a valid bool"), (["~labeler.rounds"], "labeler.rounds has no value"),
    (["labeler._target_=nobodys.package.Labels"], "No module named 'nobodys'"),
    (["labeler=none", "labeler._target_=sdsl.replays.none.NoReplay"], "expected a Labeler"),
    (["labeler=none", "~labeler._target_"], "labeler needs a _target_"),
    (["method=scargc", "stream.scaler=per_step"], "Set stream.scaler=frozen."),
    (["method=jt", "tracking.model=true"], "reads true labels"),
    (["+method.labeler=none"], "'# @package _global_'"),
])  # fmt: skip
def test_refusals(words, said):
    with pytest.raises(REFUSED) as refusal:
        setup(composed(*words))
    assert said in message(refusal.value)
    if isinstance(refusal.value, UserError):
        assert message(refusal.value).count("\n") <= 2


@pytest.mark.parametrize(("line", "name"), [
    ("", "ours · ug_2c_2d"),
    ("method=st dataset=spam seed.values=[3] +note=hi force=true", "st · spam"),
    ("labeler=oracle eval.every=7", "ours (labeler=oracle) · ug_2c_2d · eval.every=7"),
    ("++labeler.rounds=2", "ours (labeler.rounds=2) · ug_2c_2d"),
    ("dataset=spam dataset.order=chronological", "ours · spam (order=chronological)"),
    ("stream.gold=segment", "ours · ug_2c_2d · gold=segment"),
    ("ablation=no_xi", "ours (ablation=no_xi) · ug_2c_2d"),
    ("stream.scaler=frozen", "ours (stream.scaler=frozen) · ug_2c_2d"),
    ("data.root=null eval.every=2 dataset=spam", "ours · spam · eval.every=2"),
    ("probe=flatness stream.max_segments=3", "ours · ug_2c_2d · probe=flatness, max_segments=3"),
])  # fmt: skip
def test_names(line, name):
    words = line.split()
    assert str(names(setup(composed(*words), words))) == name
