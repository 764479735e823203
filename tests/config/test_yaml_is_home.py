"""A value has one home: classes declare names, types and ranges; conf/ gives every value."""

import dataclasses

import pytest
import support

from sdsl.config.compose import component, composed
from sdsl.config.registry import BASES, find
from sdsl.core.evaluation import EvalConfig
from sdsl.core.lookback import Lookback
from sdsl.core.stream import Cut, StreamConfig
from sdsl.core.training import Training
from sdsl.errors import UserError

COMPONENTS = [
    (group, file.stem)
    for group in BASES
    for file in sorted((support.ROOT / "conf" / group).glob("*.yaml"))
]


@pytest.mark.parametrize(("group", "name"), COMPONENTS, ids="=".join)
def test_a_component_declares_no_value_and_its_yaml_gives_all(group, name):
    section = composed(f"{group}={name}")[group]
    fields = dataclasses.fields(find(group, section["name"], BASES[group]))
    assert [f.name for f in fields if f.default is not dataclasses.MISSING] == []
    assert [f.name for f in fields if f.default_factory is not dataclasses.MISSING] == []
    assert set(section) == {"name", *(f.name for f in fields)}


@pytest.mark.parametrize("section", [Training, Lookback, EvalConfig, Cut, StreamConfig])
def test_nor_does_a_section(section):
    assert all(f.default is dataclasses.MISSING for f in dataclasses.fields(section))


def test_a_component_is_built_as_shipped_with_some_values_changed():
    shipped = component("labeler", "robust")
    changed = component("labeler", "robust", rounds=7, fit={"steps": 3})
    assert (shipped.rounds, changed.rounds) == (1, 7)
    assert (changed.fit.steps, changed.fit.lr) == (3, shipped.fit.lr)
    with pytest.raises(UserError, match="labeler=robust has no parameter 'round'"):
        component("labeler", "robust", round=7)


def test_a_composed_config_is_the_callers_own():
    composed("method=st")["learner"]["hidden"].append(7)
    assert composed("method=st")["learner"]["hidden"] == [100, 100]
