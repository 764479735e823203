"""Components: found by name, their parameters checked, refusals that name the choices."""

import re
from dataclasses import dataclass

import pytest
import support

from sdsl import experiment
from sdsl.config.build import build
from sdsl.config.registry import find, make
from sdsl.config.suggest import suggest
from sdsl.core.contract import Labeler, Replay
from sdsl.core.fields import choice, number, word
from sdsl.errors import UserError
from sdsl.labelers.confidence import Confidence


@dataclass
class Inner:
    steps: int = number(low=0)


@dataclass
class Settings:
    lr: float = number(low=0, high=1)
    limit: int | None = number(low=1)
    mode: str = choice("soft", "hard")
    gold: str = word("all|[1-9][0-9]*", "all, or a number")
    fast: bool
    widths: list[int]
    inner: Inner


GOOD = {
    "lr": 0.1,
    "limit": None,
    "mode": "soft",
    "gold": "12",
    "fast": False,
    "widths": [3],
    "inner": {"steps": 10},
}


def test_good_values_are_taken():
    made = build(Settings, GOOD | {"lr": 1, "limit": 4, "inner": {"steps": 2}}, "here")
    assert made == Settings(1.0, 4, "soft", "12", False, [3], Inner(2))
    assert isinstance(made.lr, float)


@pytest.mark.parametrize("name", GOOD)
def test_a_value_that_no_yaml_gives_is_asked_for(name):
    """A class has no defaults: what is shipped is what the YAML says."""
    with pytest.raises(UserError, match=rf"^here: {name}(\.steps)? has no value; set it"):
        build(Settings, {k: v for k, v in GOOD.items() if k != name}, "here")


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"mod": 0.1}, "here has no parameter 'mod'. Did you mean 'mode'? Choices: fast, gold,"),
        ({"lr": -0.1}, "here.lr=-0.1 is out of range: expected 0 to 1."),
        ({"lr": 1.5}, "here.lr=1.5 is out of range"),
        ({"lr": float("nan")}, "here.lr=nan is out of range"),
        ({"limit": 0}, "here.limit=0 is out of range: expected 1 to inf."),
        ({"lr": "quick"}, "here.lr='quick': expected a number."),
        ({"fast": "maybe"}, "here.fast='maybe': expected true or false."),
        ({"widths": "wide"}, "here.widths='wide': expected a list of whole numbers."),
        ({"widths": ["wide"]}, "here.widths=['wide']: expected a list of whole numbers."),
        ({"lr": None}, "here.lr=null: expected a number."),
        (
            {"mode": "sft"},
            "here.mode=sft is not a choice. Did you mean 'soft'? Choices: hard, soft.",
        ),
        ({"gold": "0"}, "here.gold=0 is not a choice. Choices: all, or a number."),
        ({"inner": {"steps": -1}}, "here.inner.steps=-1 is out of range"),
        ({"inner": {"stops": 1}}, "here.inner has no parameter 'stops'. Did you mean"),
    ],
)
def test_refusals_say_what_was_wrong_and_what_was_expected(params, message):
    with pytest.raises(UserError, match=re.escape(message)) as refusal:
        build(Settings, GOOD | params, "here")
    assert "\n" not in str(refusal.value)


def test_a_misspelt_component_is_refused_with_the_choices():
    message = "There is no labeler 'confidense'. Did you mean 'confidence'? Choices: "
    with pytest.raises(UserError, match=re.escape(message)):
        find("labeler", "confidense", Labeler)


@pytest.mark.parametrize("name", ["", "..", "a b", "../confidence", None, 3])
def test_what_is_no_module_name_is_refused(name):
    with pytest.raises(UserError, match="is not a module name"):
        find("labeler", name, Labeler)


def test_a_module_of_ones_own_is_found_or_refused():
    assert find("labeler", "sdsl.labelers.confidence", Labeler) is Confidence
    with pytest.raises(UserError, match="Is the package installed"):
        find("labeler", "nowhere.mine", Labeler)
    with pytest.raises(UserError, match="must define exactly one Replay, it has 0"):
        find("replay", "sdsl.labelers.confidence", Replay)


def test_make_names_the_component_in_its_refusals():
    shipped = support.config("labeler=confidence")["labeler"]
    assert make("labeler", shipped | {"size": 7}, Labeler).size == 7
    with pytest.raises(UserError, match=re.escape("labeler=confidence.size=0 is out of range")):
        make("labeler", shipped | {"size": 0}, Labeler)


@pytest.mark.parametrize(
    ("setting", "value", "message"),
    [
        ("learner.hidden", [-1], "a width cannot be negative"),
        ("learner.pretrain.lr", -1, "learner.pretrain.lr=-1"),
        ("lookback.select", "newest", "Choices: nearest, random, stratified."),
        ("stream.scaler", "minmax", "Choices: frozen, none, per_step, running."),
        ("seed.values", [1, 1], "distinct"),
        ("seed.values", [], "distinct"),
        ("stream.gold", "foo", "stream.gold=foo is not a choice. Choices: segment, record, or a"),
        ("dataset.segment_size", 1, "dataset.segment_size=1"),
        ("replay.eta1", "x", "replay=flat_region.eta1"),
        ("eval.every", 0, "eval.every=0"),
        ("method", "ours", "The section 'method' must hold settings"),
    ],
)
def test_a_config_is_refused_before_anything_runs(setting, value, message):
    cfg = support.changed(support.config("method=ours"), {setting: value})
    with pytest.raises(UserError, match=re.escape(message)):
        experiment.setup(cfg)


def test_an_unknown_section_is_refused():
    with pytest.raises(UserError, match="Did you mean 'lookback'"):
        experiment.setup(support.config("method=st") | {"loobkack": {}})


def test_suggest_without_choices():
    assert suggest("x", []) == "Choices: none."
