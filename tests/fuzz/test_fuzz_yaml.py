"""Any YAML in a config folder is used or refused in one message."""

import contextlib
from pathlib import Path

import pytest
import yaml
from cli import call, checked_only
from hypothesis import example, given, settings
from hypothesis import strategies as st

from sdsl import experiment
from sdsl.config.compose import composed
from sdsl.config.registry import BASES, make
from sdsl.config.schema import SECTIONS
from sdsl.errors import UserError

NAMES = {
    "labeler": ["none", "oracle", "confidence", "robust", "gst"],
    "replay": ["none", "retrain", "flat_region", "meta", "joint"],
    "probe": ["none", "flatness"],
}
STRANGE = ("???", "${seed}", "${oc.env:HOME}", "${", "1e400", "nan", "../../x", "a.b", "\0")
LEAF = (
    *(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=8)),
    *(st.sampled_from(STRANGE), st.sampled_from(["none", "cosine", "off", "stratified"])),
)
KEY = st.sampled_from(
    ["name", "steps", "batch", "lr", "fit", "feedback", "energy", "gold", "values", "size", "every"]
)
VALUE = st.recursive(
    st.one_of(*LEAF),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEY | st.text(), inner, max_size=3),
    max_leaves=6,
)
PART = st.sampled_from(sorted(NAMES)).flatmap(
    lambda group: st.tuples(
        st.just(group),
        st.dictionaries(KEY | st.text(max_size=5), VALUE, max_size=3),
        st.sampled_from(NAMES[group]) | VALUE,
    )
)


@settings(max_examples=250)
@given(PART)
def test_a_component_section(part):
    group, params, name = part
    with contextlib.suppress(UserError):
        make(group, {**params, "name": name}, BASES[group])


@settings(max_examples=150)
@given(st.sampled_from([*SECTIONS, "extra"]), st.none() | KEY | st.text(max_size=5), VALUE)
@example("seed", "values", [True, 1])
@example("seed", "values", [10**30])
@example("dataset", "segment_size", 10**30)
@example("learner", "hidden", None)
def test_a_section_or_a_setting_with_any_value(section, key, value):
    config = composed()
    inside = key is not None and isinstance(config.get(section), dict)
    changed = {**config[section], key: value} if inside else value
    with contextlib.suppress(UserError):
        experiment.setup({**config, section: changed})


TEXT = st.one_of(
    st.binary(max_size=40),
    st.text(max_size=40).map(lambda text: text.encode(errors="ignore")),
    VALUE.map(lambda value: yaml.safe_dump(value).encode()),
    st.dictionaries(KEY, VALUE, max_size=3).map(lambda value: yaml.safe_dump(value).encode()),
)


@settings(max_examples=25)
@given(TEXT)
@example(b"name: [")
@example(b"3")
@example(b"\xff\xfe")
@example(b"- 1\n- 2\n")
@example(b"name: none\nname: none\n")
@example(b"!!python/object/apply:os.system ['touch pwned']\n")
@example(b"defaults:\n  - nothing\n")
@example(b"# @package _global_\nhydra: 3\n")
@example(b"[" * 2000)
@example(b"2001-99-99: 1")
def test_a_file_of_somebodys_own(folder, capfd, text):
    (folder / "labeler" / "any.yaml").write_bytes(text)
    capfd.readouterr()
    status = call("--config-dir", str(folder), "method=st", "labeler=any")
    err = capfd.readouterr().err
    assert status in (0, 2), err
    assert "Traceback" not in err
    assert (status == 0) or err.strip()
    assert not Path("pwned").exists()


@pytest.fixture
def folder(here, monkeypatch) -> Path:
    checked_only(monkeypatch)
    (here / "mine" / "labeler").mkdir(parents=True)
    return here / "mine"
